use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use rmcp::{
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, Extensions, JsonObject, ListToolsRequest,
        PaginatedRequestParams,
    },
    service::{Peer, PeerRequestOptions, RoleClient},
};
use tokio::time::timeout;

use super::{Answer, Arrival, Carrier, UnderWay, frame::Responses};
use crate::{CallReply, Cursor, TaskReply, TaskRequest, ToolCall, ToolPage, TransportError, answer};

/// Makes one attempt over a connection that runs on rmcp.
///
/// The arguments are what rmcp needs to see of them: the transport writes the request from the call.
pub(crate) fn call_tool<C: Carrier + Sync>(
    carrier: &C,
    peer: &Peer<RoleClient>,
    call: ToolCall,
    arguments: Option<Arc<JsonObject>>,
) -> impl Future<Output = Result<CallReply, TransportError>> + Send {
    // Not within, since what an async function is given is kept twice, by every call in flight.
    let call = call.started();
    async move {
        let arrival = followed(carrier, peer, &call, arguments).await;
        let reply = arrival.and_then(|answer| match answer {
            Answer::Result(json) => answer::call_result(&json),
            Answer::Error(json) => answer::error(&json).map(CallReply::Error),
        });
        reply.map_err(|error| call.or_abort(error))
    }
}

/// Sends a call and waits for what comes of it, within its bounds.
async fn followed(
    carrier: &impl Carrier,
    peer: &Peer<RoleClient>,
    call: &ToolCall,
    arguments: Option<Arc<JsonObject>>,
) -> Arrival {
    let mut under_way = UnderWay::begin(carrier, Some(call.clone()))?;
    // Silence means nothing while the host is being asked.
    let (questions, key) = (carrier.questions(), under_way.tap().key);
    let arrival = {
        let work = pin!(sent(&mut under_way, peer, call, arguments));
        call.bounded_but_for(work, || questions.asked_until(key)).await
    };
    under_way.end(arrival.unwrap_or_else(|cut| Err(cut.into())))
}

/// Not async, so that the request is not kept beside the future that sends it.
fn sent<C: Carrier>(
    under_way: &mut UnderWay<'_, C>,
    peer: &Peer<RoleClient>,
    call: &ToolCall,
    arguments: Option<Arc<JsonObject>>,
) -> impl Future<Output = Arrival> {
    let mut params = CallToolRequestParams::new(call.name().to_owned());
    params.arguments = arguments.map(Arc::unwrap_or_clone);
    let mut request = CallToolRequest::new(params);
    request.extensions.insert(under_way.tap());
    let mut options = PeerRequestOptions::no_options();
    options.meta = call.meta().cloned();
    under_way.arrival(peer, ClientRequest::CallToolRequest(request), options)
}

/// Asks for one page of the tools over a connection that runs on rmcp, past its cache.
pub(crate) async fn list_tools(
    carrier: &impl Carrier,
    peer: &Peer<RoleClient>,
    cursor: Option<Cursor>,
    within: Duration,
) -> Result<ToolPage, TransportError> {
    let under_way = UnderWay::begin(carrier, None)?;
    under_way.tap().mark_listing();
    let page =
        cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.as_str().to_owned())));
    let mut request = ListToolsRequest { params: page, ..ListToolsRequest::default() };
    request.extensions.insert(under_way.tap());
    let request = ClientRequest::ListToolsRequest(request);
    match ended(under_way, peer, request, within).await? {
        Answer::Result(json) => answer::tool_page(&json),
        Answer::Error(json) => Err(TransportError::rejected(answer::error(&json)?.code.0)),
    }
}

/// Makes one request about a task over a connection that runs on rmcp.
pub(crate) async fn task(
    carrier: &impl Carrier,
    peer: &Peer<RoleClient>,
    mut request: TaskRequest,
    within: Duration,
) -> Result<TaskReply, TransportError> {
    let under_way = UnderWay::begin(carrier, None)?;
    let asks_for_state = request.asks_for_state();
    let mut extensions = Extensions::new();
    extensions.insert(under_way.tap());
    extensions.insert(Responses(request.take_responses().map(Arc::new)));
    match ended(under_way, peer, request.into_request(extensions), within).await? {
        Answer::Result(json) => TaskRequest::reply(asks_for_state, &json),
        Answer::Error(json) => Err(TransportError::rejected(answer::error(&json)?.code.0)),
    }
}

/// Makes a request that is no call, within a bound of its own.
async fn ended<C: Carrier>(
    mut under_way: UnderWay<'_, C>,
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    within: Duration,
) -> Result<Answer, TransportError> {
    let arrival = under_way.arrival(peer, request, PeerRequestOptions::no_options());
    let arrival = timeout(within, arrival).await;
    under_way.end(arrival.unwrap_or_else(|_| Err(TransportError::deadline())))
}
