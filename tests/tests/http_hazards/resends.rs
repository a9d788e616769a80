//! One call that becomes several.

use std::sync::Arc;

use mcp_tool::{
    CallReply, Transport,
    mcp_transport::{Delivery, ErrorClass, ErrorKind},
};
use mcp_tool_cli::fault_server::{
    Era, Fault, Http, HttpFault, Moment, Record, Reply, Response, Scenario, When,
};
use rmcp::ServiceError;
use tokio::sync::Notify;

use crate::{call, counts, layer::PostingAgain, put, raw, server::Server, shows};

fn answered_after_it_ran(response: Response) -> Scenario {
    put().on_call(1, HttpFault::Respond(Moment::AfterCommit, response))
}

#[tokio::test]
async fn r1_a_call_that_ran_and_got_404_does_not_run_again() {
    let scenario = answered_after_it_ran(Response::new(404));

    let (server, raw) = raw::connect(&scenario).await;
    raw.peer().call_tool(raw::put("a")).await.unwrap();
    shows("R1", counts(&server.record()) == (2, 2) && server.record().versions().len() == 2);
    server.stop().await;

    let server = Server::start(&scenario).await;
    let transport = server.connector().start().await.unwrap();
    let error = transport.call_tool(call("a")).await.unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Refused));
    assert_eq!((counts(&server.record()), server.record().versions().len()), ((1, 1), 1));
    server.stop().await;
}

#[tokio::test]
async fn r2_a_call_beside_one_that_got_404_gets_the_servers_answer() {
    let folder = || tempfile::tempdir().unwrap();
    let scenario = |folder: &tempfile::TempDir| {
        put()
            .http(Http::new().reply(Reply::Sse))
            .on_call(1, Fault::AnswerLate { when: When::Trigger(folder.path().join("now")) })
            .on_call(2, HttpFault::Respond(Moment::BeforeCommit, Response::new(404)))
    };

    let folder_of_raw = folder();
    let scenario_of_raw = scenario(&folder_of_raw);
    let server = Server::start_in(folder_of_raw, &scenario_of_raw).await;
    let raw = raw::connect_to(&server).await;
    let peer = raw.peer().clone();
    let first = tokio::spawn(async move { peer.call_tool(raw::put("first")).await });
    server.wait_for(|record| record.executions().len() == 1).await;
    raw.peer().call_tool(raw::put("second")).await.unwrap();
    let error = first.await.unwrap().unwrap_err();
    // It ran, and nobody at the server has said anything like that.
    shows("R2", matches!(error, ServiceError::McpError(error) if error.code.0 == -32603));
    server.stop().await;

    let folder = folder();
    let scenario = scenario(&folder);
    let server = Server::start_in(folder, &scenario).await;
    let transport = Arc::new(server.connector().start().await.unwrap());
    let other = transport.clone();
    let first = tokio::spawn(async move { other.call_tool(call("first")).await });
    server.wait_for(|record| record.executions().len() == 1).await;
    transport.call_tool(call("second")).await.unwrap_err();
    std::fs::write(server.file("now"), "").unwrap();
    let reply = first.await.unwrap().unwrap();
    assert!(matches!(&reply, CallReply::Result(_)), "{reply:?}");
    assert_eq!(counts(&server.record()), (2, 1));
    server.stop().await;
}

#[tokio::test]
async fn r7_a_request_for_input_is_an_answer_and_not_a_reason_to_post_again() {
    let scenario = put().era(Era::Modern).on_call(1, Fault::InputRequired);

    let server = Server::start(&scenario).await;
    let raw = raw::discover(server.url()).await;
    raw.call_tool(raw::put("a")).await.unwrap();
    shows("R7", counts(&server.record()) == (2, 1));
    server.stop().await;

    let server = Server::start(&scenario).await;
    let transport = server.connector().start().await.unwrap();
    let reply = transport.call_tool(call("a")).await.unwrap();
    assert!(matches!(reply, CallReply::InputRequired(_)), "{reply:?}");
    assert_eq!(counts(&server.record()), (1, 0));
    server.stop().await;
}

#[tokio::test]
async fn r10_a_call_that_got_401_is_not_posted_again_with_another_token() {
    let scenario = answered_after_it_ran(Response::unauthorised());

    let server = Server::start(&scenario).await;
    let raw = raw::connect_with(PostingAgain::new(reqwest::Client::new()), server.url()).await;
    raw.peer().call_tool(raw::put("a")).await.unwrap();
    shows("R10", counts(&server.record()) == (2, 2));
    server.stop().await;

    let server = Server::start(&scenario).await;
    let transport = server.connector().start_with(PostingAgain::new).await.unwrap();
    let error = transport.call_tool(call("a")).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.class(), error.delivery()),
        (ErrorKind::AuthorisationRequired, ErrorClass::Other, Delivery::Refused)
    );
    assert_eq!(counts(&server.record()), (1, 1));
    // The next one is a request of its own.
    transport.call_tool(call("b")).await.unwrap();
    server.stop().await;
}

/// What a layer does before the first POST has come to an end, no wait for that end can prevent.
#[tokio::test]
async fn r10_a_call_that_is_under_way_is_not_posted_beside_itself() {
    let scenario = put().on_call(1, Fault::Hang);
    let ran = |record: &Record| record.executions().len() == 1;

    let server = Server::start(&scenario).await;
    let impatience = Arc::new(Notify::new());
    let layer = PostingAgain::until(reqwest::Client::new(), impatience.clone());
    let raw = raw::connect_with(layer, server.url()).await;
    let peer = raw.peer().clone();
    let calling = tokio::spawn(async move { peer.call_tool(raw::put("a")).await });
    server.wait_for(ran).await;
    impatience.notify_waiters();
    calling.await.unwrap().unwrap();
    shows("R10", counts(&server.record()) == (2, 2));
    server.stop().await;

    let server = Server::start(&scenario).await;
    let layered = |client| PostingAgain::until(client, impatience.clone());
    let transport = Arc::new(server.connector().start_with(layered).await.unwrap());
    let other = transport.clone();
    let calling = tokio::spawn(async move { other.call_tool(call("a")).await });
    server.wait_for(ran).await;
    impatience.notify_waiters();
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Connection, Delivery::Unknown));
    assert_eq!(counts(&server.record()), (1, 1));
    transport.call_tool(call("b")).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn r11_a_call_does_not_follow_a_redirect() {
    for status in [307, 308] {
        let scenario = answered_after_it_ran(Response::redirect(status));

        let (server, raw) = raw::connect(&scenario).await;
        raw.peer().call_tool(raw::put("a")).await.unwrap();
        shows("R11", counts(&server.record()) == (2, 2));
        server.stop().await;

        is_not_followed(status).await;
    }
    // rmcp does not follow these, but a host's own client would, with a GET.
    for status in [301, 302, 303] {
        is_not_followed(status).await;
    }
}

/// Not even where the host's own client would follow it.
async fn is_not_followed(status: u16) {
    let follows = reqwest::Client::builder().redirect(reqwest::redirect::Policy::limited(3));
    let server = Server::start(&answered_after_it_ran(Response::redirect(status))).await;
    let transport = server.connector().with_client(follows).unwrap().start().await.unwrap();
    let error = transport.call_tool(call("a")).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.class(), error.delivery()),
        (ErrorKind::HttpStatus(status), ErrorClass::Other, Delivery::Unknown)
    );
    assert_eq!(counts(&server.record()), (1, 1));
    server.stop().await;
}
