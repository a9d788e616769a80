//! A server with many tools, a hundred on a page, written once: it finds the page and puts the id in front.

use std::{fmt::Write, sync::Arc};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

use crate::line_server::INITIALIZED;

const PAGE: usize = 100;
const SCHEMA: usize = 500;

/// All pages of a server. A cursor is the number of its page.
#[derive(Clone)]
pub(crate) struct Pages(Arc<[String]>);

#[derive(Deserialize)]
struct Request<'a> {
    /// Absent from a notification.
    id: Option<u64>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    cursor: Option<&'a str>,
}

impl Pages {
    /// So many tools.
    pub(crate) fn of(tools: usize) -> Self {
        let last = tools.div_ceil(PAGE) - 1;
        let page = |number: usize| {
            let on_it = number * PAGE..tools.min((number + 1) * PAGE);
            let listed: Vec<String> = on_it.map(tool).collect();
            let mut page = format!("\"result\":{{\"tools\":[{}]", listed.join(","));
            if number < last {
                write!(page, ",\"nextCursor\":\"{}\"", number + 1).expect("a string takes it");
            }
            page + "}}\n"
        };
        Self((0..=last).map(page).collect())
    }

    /// A client's end of a connection.
    pub(crate) fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        tokio::spawn(self.clone().serve(theirs));
        ours
    }

    async fn serve(self, stream: DuplexStream) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let request: Request<'_> = serde_json::from_str(&line).expect("all sides write requests");
            let Some(id) = request.id else { continue };
            let initialized = format!("{INITIALIZED}}}\n");
            let body = match request.method {
                "initialize" => &initialized,
                _ => {
                    let cursor = request.params.and_then(|params| params.cursor);
                    &self.0[cursor.map_or(0, |cursor| cursor.parse().expect("one of ours"))]
                }
            };
            let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},");
            let written = async {
                writer.write_all(head.as_bytes()).await?;
                writer.write_all(body.as_bytes()).await
            };
            if written.await.is_err() {
                return;
            }
        }
    }
}

fn tool(number: usize) -> String {
    let schema = schema();
    format!(
        "{{\"name\":\"tool_{number:06}\",\"description\":\"Does what the tool of this number does\",\
         \"inputSchema\":{schema},\"annotations\":{{\"readOnlyHint\":true}}}}"
    )
}

/// An object with five members, all with a description.
fn schema() -> String {
    let member = |name: &str, words: usize| {
        format!("\"{name}\":{{\"type\":\"string\",\"description\":\"{}\"}}", "x".repeat(words))
    };
    let schema = |last| {
        let members = ["path", "pattern", "owner", "revision"].map(|name| member(name, 40));
        let members = [members.join(","), member("message", last)].join(",");
        format!("{{\"type\":\"object\",\"properties\":{{{members}}},\"required\":[\"path\",\"pattern\"]}}")
    };
    schema(SCHEMA - schema(0).len())
}
