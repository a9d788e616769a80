//! The sides that list all tools: raw rmcp, a client without an SDK, the transport alone, the discovery.

use std::{future::Future, sync::Arc};

use mcp_tool::{
    Catalog, PagingDiscovery, StdioTransport, Transport, connector_fn,
    mcp_transport::ToolPage,
    rmcp::{
        model::Tool,
        serve_client,
        service::{ClientLifecycleMode, RoleClient, RunningService},
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use crate::{
    floor::{INITIALIZE, INITIALIZED},
    listing_server::Pages,
};

/// Lists all tools over a connection of its own.
pub(crate) trait Lister: Sized {
    /// What a listing leaves.
    type Listed;

    fn connect(pages: &Pages) -> impl Future<Output = Self>;
    fn list(&mut self) -> impl Future<Output = Self::Listed>;
    /// How many tools that are.
    fn count(listed: &Self::Listed) -> usize;
}

/// rmcp's own loop over its own transport.
pub(crate) struct Raw(RunningService<RoleClient, ()>);

impl Lister for Raw {
    type Listed = Vec<Tool>;

    async fn connect(pages: &Pages) -> Self {
        Self(serve_client((), pages.connect()).await.expect("the server initializes"))
    }

    async fn list(&mut self) -> Vec<Tool> {
        self.0.peer().list_all_tools().await.expect("the server lists")
    }

    fn count(listed: &Vec<Tool>) -> usize {
        listed.len()
    }
}

/// The transport's pages, as they came.
pub(crate) struct Alone(Arc<dyn Transport>);

impl Lister for Alone {
    type Listed = Vec<ToolPage>;

    async fn connect(pages: &Pages) -> Self {
        Self(transport(pages).await)
    }

    async fn list(&mut self) -> Vec<ToolPage> {
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.0.list_tools(cursor).await.expect("the server lists");
            cursor = page.next.clone();
            listed.push(page);
            if cursor.is_none() {
                return listed;
            }
        }
    }

    fn count(listed: &Vec<ToolPage>) -> usize {
        listed.iter().map(|page| page.tools.len()).sum()
    }
}

/// What a host has: each tool judged, within limits, as a catalog.
pub(crate) struct Safe(PagingDiscovery<Arc<dyn mcp_tool::Connector>>);

impl Lister for Safe {
    type Listed = Arc<Catalog>;

    async fn connect(pages: &Pages) -> Self {
        let pages = pages.clone();
        let connector = connector_fn(move || {
            let pages = pages.clone();
            async move { Ok(transport(&pages).await) }
        });
        Self(PagingDiscovery::new(Arc::new(connector)))
    }

    async fn list(&mut self) -> Arc<Catalog> {
        self.0.refresh().await.expect("the server lists")
    }

    fn count(listed: &Arc<Catalog>) -> usize {
        listed.len()
    }
}

/// The same, and the definition of each tool in rmcp's form.
pub(crate) struct SafeWithDefinitions(Safe);

impl Lister for SafeWithDefinitions {
    type Listed = Arc<Catalog>;

    async fn connect(pages: &Pages) -> Self {
        Self(Safe::connect(pages).await)
    }

    async fn list(&mut self) -> Arc<Catalog> {
        let catalog = self.0.list().await;
        assert!(catalog.tools().iter().all(|tool| tool.definition().name == tool.name()));
        catalog
    }

    fn count(listed: &Arc<Catalog>) -> usize {
        listed.len()
    }
}

async fn transport(pages: &Pages) -> Arc<dyn Transport> {
    let (reader, writer) = tokio::io::split(pages.connect());
    let connected = StdioTransport::over(reader, writer, (), ClientLifecycleMode::Initialize).await;
    Arc::new(connected.expect("the server initializes"))
}

/// A hand-written client that reads each page's JSON once.
pub(crate) struct Floor {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    line: Vec<u8>,
    id: u64,
}

#[derive(Deserialize)]
struct Page {
    id: u64,
    result: Listing,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listing {
    tools: Vec<FloorTool>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FloorTool {
    name: String,
    description: Option<String>,
    input_schema: Box<RawValue>,
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
}

impl Floor {
    async fn ask(&mut self, request: &str) {
        self.writer.write_all(format!("{request}\n").as_bytes()).await.expect("the server reads");
    }

    async fn read(&mut self) {
        self.line.clear();
        self.reader.read_until(b'\n', &mut self.line).await.expect("the server answers");
    }
}

impl Lister for Floor {
    type Listed = Vec<FloorTool>;

    async fn connect(pages: &Pages) -> Self {
        let (reader, writer) = tokio::io::split(pages.connect());
        let mut floor = Self { reader: BufReader::new(reader), writer, line: Vec::new(), id: 0 };
        floor.ask(INITIALIZE).await;
        floor.read().await;
        floor.ask(INITIALIZED).await;
        floor
    }

    async fn list(&mut self) -> Vec<FloorTool> {
        let mut listed = Vec::new();
        let mut params = "{}".to_owned();
        loop {
            self.id += 1;
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"", self.id);
            self.ask(&format!("{head},\"params\":{params}}}")).await;
            self.read().await;
            let page: Page = serde_json::from_slice(&self.line).expect("the server lists");
            assert_eq!(page.id, self.id);
            listed.extend(page.result.tools);
            let Some(next) = page.result.next_cursor else { return listed };
            params = format!("{{\"cursor\":\"{next}\"}}");
        }
    }

    fn count(listed: &Vec<FloorTool>) -> usize {
        let whole = |tool: &&FloorTool| {
            let says = tool.annotations.as_ref().and_then(|said| said.read_only_hint);
            !tool.name.is_empty()
                && tool.description.is_some()
                && tool.input_schema.get().starts_with('{')
                && says == Some(true)
        };
        listed.iter().filter(whole).count()
    }
}
