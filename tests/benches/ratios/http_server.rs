//! The line server's answers over Streamable HTTP, from a process of its own: JSON, or one event where the
//! path says so. It keeps a connection for as long as its client does.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr},
    process,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    runtime::Builder,
};

use crate::line_server::answer;

/// Given to this program as its only argument, makes it this server.
pub(crate) const SERVE_HTTP: &str = "serve-http";
/// The path under which answers are event streams.
pub(crate) const EVENTS: &str = "/events";
/// Every call may open a connection, and a thousand may do so at once.
const BACKLOG: u32 = 4096;

/// Serves until standard input ends. Tells the port first.
pub(crate) fn serve() -> io::Result<()> {
    std::thread::spawn(|| {
        // Its end and its failure say the same: the parent has gone.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });
    Builder::new_current_thread().enable_io().build()?.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let listener = socket.listen(BACKLOG)?;
        println!("{}", listener.local_addr()?.port());
        io::stdout().flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // A client that breaks off is none of the others' business.
            tokio::spawn(async move {
                let _ = converse(stream).await;
            });
        }
    })
}

async fn converse(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        let Some(head) = read_head(&mut stream, &mut buffer).await? else { return Ok(()) };
        let end = head.length + head.body;
        while buffer.len() < end {
            buffer.reserve(end - buffer.len());
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let response = response(&head, &buffer[head.length..end]);
        stream.write_all(response.as_bytes()).await?;
        buffer.drain(..end);
    }
}

struct Head {
    length: usize,
    body: usize,
    is_post: bool,
    wants_events: bool,
}

/// None when the client has left.
async fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Head>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            return Ok(Some(parse_head(&buffer[..end])));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse_head(head: &[u8]) -> Head {
    let text = std::str::from_utf8(head).expect("all sides write headers in ASCII");
    let mut lines = text.split("\r\n");
    let request = lines.next().expect("there is a first part");
    let lengths = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().expect("a length"))
    });
    Head {
        length: head.len() + 4,
        body: lengths.last().unwrap_or(0),
        is_post: request.starts_with("POST"),
        wants_events: request.contains(EVENTS),
    }
}

fn response(head: &Head, body: &[u8]) -> String {
    if !head.is_post {
        return "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned();
    }
    match answer(body) {
        None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        Some(answer) if head.wants_events => {
            let event = format!("data: {}\n\n", answer.trim_end());
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            format!("{head}{:x}\r\n{event}\r\n0\r\n\r\n", event.len())
        }
        Some(answer) => {
            let answer = answer.trim_end();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
            format!("{head}{}\r\n\r\n{answer}", answer.len())
        }
    }
}
