//! Streamable HTTP over a loopback socket.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use mcp_transport::{
    HttpConnector, Transport,
    contract::{self, Behaviour, Bench, FarEnd, Unsupported},
    reqwest::{
        self,
        dns::{Addrs, Name, Resolve, Resolving},
    },
    rmcp::service::ClientLifecycleMode,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{is_kept, lines};

struct Http;

#[async_trait::async_trait]
impl Bench for Http {
    async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("its own address").port();
        let mut client = reqwest::Client::builder().no_proxy();
        let begun = Arc::new(AtomicBool::new(false));
        if far_end.behaviour() == Behaviour::TakesNothing {
            client = client.dns_resolver(Names { far_end: far_end.clone(), begun: begun.clone() });
        } else {
            client = client.resolve("far.end", SocketAddr::from(([127, 0, 0, 1], port)));
        }
        tokio::spawn(serve(far_end, listener));
        let connector = HttpConnector::new(&format!("http://far.end:{port}/mcp")).expect("a URL");
        let connector = connector.with_client(client).expect("a client");
        let transport = connector.with_lifecycle(ClientLifecycleMode::Initialize).start().await;
        begun.store(true, Ordering::Relaxed);
        Ok(Arc::new(transport.expect("the handshake succeeds")))
    }
}

/// What the kernel takes has left, so a far end that takes nothing is one whose address nobody knows yet.
struct Names {
    far_end: FarEnd,
    begun: Arc<AtomicBool>,
}

impl Resolve for Names {
    fn resolve(&self, _: Name) -> Resolving {
        let (far_end, begun) = (self.far_end.clone(), self.begun.clone());
        Box::pin(async move {
            if begun.load(Ordering::Relaxed) && !far_end.may_take().await {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let here: Addrs = Box::new(std::iter::once(SocketAddr::from(([127, 0, 0, 1], 0))));
            Ok(here)
        })
    }
}

async fn serve(far_end: FarEnd, listener: TcpListener) {
    let mut exchanges = JoinSet::new();
    let accepting = async {
        while let Ok((socket, _)) = listener.accept().await {
            let far_end = far_end.clone();
            exchanges.spawn(async move {
                // An error says that the other side has left.
                let _ = exchange(far_end, socket).await;
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = far_end.ended() => {}
    }
}

/// One request, one response.
async fn exchange(far_end: FarEnd, socket: TcpStream) -> io::Result<()> {
    let mut socket = BufReader::new(socket);
    let (mut first, mut length) = (String::new(), 0);
    socket.read_line(&mut first).await?;
    loop {
        let mut header = String::new();
        if socket.read_line(&mut header).await? == 0 {
            return Ok(());
        }
        match header.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().map_err(io::Error::other)?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (status, content, body) = match (first.starts_with("POST"), message["method"].as_str()) {
        (false, _) => ("405 Method Not Allowed", "text/plain", String::new()),
        (true, Some("initialize")) => ("200 OK", "application/json", lines::welcome(&message).to_string()),
        (true, Some("tools/call")) => {
            let Some(reply) = lines::received(&far_end, &message).reply().await else {
                return Ok(());
            };
            let answer = lines::answer(&message, reply);
            if far_end.behaviour() == Behaviour::AnswersNobodyFirst {
                let stray = lines::stray(json!("nobody"));
                ("200 OK", "text/event-stream", format!("data: {stray}\n\ndata: {answer}\n\n"))
            } else {
                ("200 OK", "application/json", answer.to_string())
            }
        }
        (true, _) => ("202 Accepted", "text/plain", String::new()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content}\r\ncontent-length: {length}\r\n");
    socket.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await?;
    socket.shutdown().await
}

#[tokio::test]
async fn the_http_transport_keeps_the_contract() {
    is_kept(&contract::examine(Http).await, &[]);
}
