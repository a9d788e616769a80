use std::{collections::HashSet, time::Duration};

use mcp_tool::{
    CancellationToken, Connector, DiscoveryError, Transport, TransportError,
    mcp_transport::{Cursor, ErrorKind, ToolPage},
    rmcp::model::ErrorCode,
};
use mcp_tool_cli::audit::{Evidence, Listing, ListingEnd};
use tokio::time::{Instant, sleep_until};

use super::probe;
use crate::command::{
    log::{Log, Logged},
    progress::Progress,
    server::Reach,
    session::{Unlisted, unlisted},
};

/// The most that is listed. Whoever lists more, lists without end for all that people can tell.
const PAGES: usize = 1_000;
const TOOLS: usize = 10_000;
const BYTES: usize = 64 * 1024 * 1024;

/// Looks at one server, and calls none of its tools.
pub(super) struct Visitor<'a> {
    pub(super) reach: &'a Reach,
    pub(super) log: &'a Log,
    pub(super) progress: &'a Progress,
}

impl Visitor<'_> {
    /// Lists twice, over two connections; then, of a server that is started, watches one run of its own.
    pub(super) async fn look(
        &self,
        timeout: Duration,
        token: &CancellationToken,
    ) -> Result<Evidence, Unlisted> {
        let until = Instant::now() + timeout;
        let twice = async {
            let first = self.list().await?;
            if first.end() == ListingEnd::Limit {
                return Ok(Evidence::new(first));
            }
            self.progress.is("listing once more");
            let second = self.list().await?;
            Ok(Evidence::new(first).with_second(second))
        };
        let evidence = tokio::select! {
            biased;
            listed = twice => listed.map_err(|error| unlisted(error, self.reach, self.log))?,
            () = token.cancelled() => return Err(Unlisted::Cancelled),
            () = sleep_until(until) => return Err(Unlisted::DeadlinePassed),
        };
        let Reach::Stdio { launch, .. } = self.reach else { return Ok(evidence) };
        self.progress.is("watching the server's process");
        let facts = tokio::select! {
            biased;
            facts = probe::watch(launch) => facts,
            () = token.cancelled() => return Err(Unlisted::Cancelled),
        };
        Ok(match facts {
            Some(facts) => evidence.with_process(facts),
            None => {
                self.log.decision("the server's process could not be watched");
                evidence
            }
        })
    }

    async fn list(&self) -> Result<Listing, DiscoveryError> {
        let connector = Logged { connector: self.reach.connector(), log: self.log.clone() };
        let transport = connector.connect().await.map_err(DiscoveryError::connect)?;
        let walked = walk(&*transport).await;
        transport.close().await;
        walked.map_err(DiscoveryError::listing)
    }
}

/// Follows the pages to their end. Ends early only where no further page can tell more.
async fn walk(transport: &dyn Transport) -> Result<Listing, TransportError> {
    let (mut pages, mut cursor): (Vec<ToolPage>, _) = (Vec::new(), None);
    let (mut cursors, mut texts) = (HashSet::new(), HashSet::new());
    let (mut tools, mut bytes) = (0, 0);
    loop {
        let page = match page(transport, cursor).await {
            Err(error) if pages.is_empty() && is_unknown_method(&error) => ToolPage::default(),
            page => page?,
        };
        let mut brought_new = false;
        for tool in &page.tools {
            tools += 1;
            bytes += tool.json().len();
            brought_new |= texts.insert(tool.json().to_owned());
        }
        cursor = page.next.clone();
        pages.push(page);
        let Some(next) = &cursor else { return Ok(Listing::new(pages, ListingEnd::LastPage)) };
        let is_known = !cursors.insert(next.clone());
        if is_known && !brought_new {
            return Ok(Listing::new(pages, ListingEnd::Circle));
        }
        if pages.len() == PAGES || tools > TOOLS || bytes > BYTES {
            return Ok(Listing::new(pages, ListingEnd::Limit));
        }
    }
}

/// Asks for one page, and once more where that can help.
async fn page(transport: &dyn Transport, cursor: Option<Cursor>) -> Result<ToolPage, TransportError> {
    match transport.list_tools(cursor.clone()).await {
        Err(error) if !is_unknown_method(&error) && !transport.is_closed() => {
            transport.list_tools(cursor).await
        }
        page => page,
    }
}

/// A server without tools need not know their method.
fn is_unknown_method(error: &TransportError) -> bool {
    error.kind() == ErrorKind::Rejected(ErrorCode::METHOD_NOT_FOUND.0)
}
