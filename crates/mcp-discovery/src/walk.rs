use std::collections::HashSet;

use mcp_transport::{
    Cursor, ErrorClass, ErrorKind, ToolPage, Transport, TransportError, rmcp::model::ErrorCode,
};
use tokio::time::timeout;

use crate::{DiscoveryError, DiscoveryErrorKind, ListLimits, Warning, listing::Listing};

/// Why a walk gave no listing.
pub(crate) struct WalkError {
    pub(crate) error: DiscoveryError,
    /// What the transport says about it; `Other` for a limit.
    pub(crate) class: ErrorClass,
    pub(crate) on_first_page: bool,
}

/// Follows the pages of `tools/list` to the end, over one connection, within the limits.
///
/// All or nothing: a page that fails twice ends the walk.
pub(crate) async fn walk(transport: &dyn Transport, limits: &ListLimits) -> Result<Listing, WalkError> {
    timeout(limits.time, pages(transport, limits))
        .await
        .unwrap_or_else(|_| Err(limit(DiscoveryErrorKind::TooSlow)))
}

async fn pages(transport: &dyn Transport, limits: &ListLimits) -> Result<Listing, WalkError> {
    let mut listing = Listing::default();
    let mut cursor = None;
    let mut seen = HashSet::new();
    let mut bytes: usize = 0;
    for number in 0..limits.pages {
        let page = match page(transport, cursor, limits).await {
            Ok(page) => page,
            Err(Fault::Transport(error)) if number == 0 && is_unknown_method(&error) => {
                listing.warn(Warning::ToolsUnsupported);
                return Ok(listing);
            }
            Err(Fault::Transport(error)) => {
                let class = transport.classify(&error);
                let on_first_page = number == 0;
                return Err(WalkError { error: DiscoveryError::listing(error), class, on_first_page });
            }
            Err(Fault::TooSlow) => return Err(limit(DiscoveryErrorKind::TooSlow)),
        };
        let mut progress = false;
        for tool in page.tools {
            if listing.listed() == limits.tools {
                return Err(limit(DiscoveryErrorKind::TooManyTools));
            }
            spend(&mut bytes, tool.json(), limits)?;
            progress |= listing.add(tool);
        }
        let Some(next) = page.next else { return Ok(listing) };
        spend(&mut bytes, next.as_str(), limits)?;
        // A cursor may be empty, and may come again (2026-07-28, server/utilities/pagination), so it
        // takes both to tell that the pages lead in a circle.
        let is_known = !seen.insert(next.clone());
        if is_known && !progress {
            listing.warn(Warning::NoProgress);
            return Ok(listing);
        }
        cursor = Some(next);
    }
    Err(limit(DiscoveryErrorKind::TooManyPages))
}

enum Fault {
    Transport(TransportError),
    TooSlow,
}

/// Asks for one page, and once more where that can help.
async fn page(
    transport: &dyn Transport,
    cursor: Option<Cursor>,
    limits: &ListLimits,
) -> Result<ToolPage, Fault> {
    let ask = async |cursor| match timeout(limits.page_time, transport.list_tools(cursor)).await {
        Ok(page) => page.map_err(Fault::Transport),
        Err(_) => Err(Fault::TooSlow),
    };
    match ask(cursor.clone()).await {
        Ok(page) => Ok(page),
        Err(Fault::Transport(error)) if is_unknown_method(&error) => Err(Fault::Transport(error)),
        Err(fault) if transport.is_closed() => Err(fault),
        // It has asked not to be asked at once.
        Err(Fault::Transport(error)) if error.retry_after().is_some() => Err(Fault::Transport(error)),
        Err(_) => ask(cursor).await,
    }
}

fn is_unknown_method(error: &TransportError) -> bool {
    error.kind() == ErrorKind::Rejected(ErrorCode::METHOD_NOT_FOUND.0)
}

fn spend(bytes: &mut usize, text: &str, limits: &ListLimits) -> Result<(), WalkError> {
    *bytes += text.len();
    if *bytes > limits.bytes { Err(limit(DiscoveryErrorKind::TooManyBytes)) } else { Ok(()) }
}

fn limit(kind: DiscoveryErrorKind) -> WalkError {
    WalkError { error: kind.into(), class: ErrorClass::Other, on_first_page: false }
}
