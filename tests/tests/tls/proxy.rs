use std::sync::{Arc, Mutex};

use mcp_tool::mcp_transport::reqwest;
use tokio::{
    io::{self, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// Where a proxy cuts a connection.
#[derive(Clone, Debug)]
pub(crate) enum Cut {
    /// When it has read what it is asked for, before it has forwarded a byte.
    BeforeForwarding,
    /// The same, with a response of this status.
    Refusing(u16),
    /// When it is told to; until then it forwards everything.
    AfterForwarding,
    /// After so many bytes from the server.
    InTheAnswer(u64),
}

/// A proxy for `http` and, by CONNECT, for anything.
pub(crate) struct Proxy {
    address: String,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    /// What happens to the next connections.
    cuts: Mutex<Vec<Cut>>,
    /// The method of each connection's first request.
    asked: Mutex<Vec<String>>,
    cut: Notify,
}

impl Proxy {
    /// A proxy in front of the server on this port, whatever it is asked for.
    pub(crate) async fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<State>::default();
        let accepted = state.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let state = accepted.clone();
                tokio::spawn(async move { state.serve(socket, port).await });
            }
        });
        Self { address, state, accepting }
    }

    pub(crate) fn proxy(&self) -> reqwest::Proxy {
        reqwest::Proxy::all(&self.address).unwrap()
    }

    /// Cuts the next connections, one like each of these.
    pub(crate) fn cut_next(&self, cuts: impl IntoIterator<Item = Cut>) {
        self.state.cuts.lock().unwrap().extend(cuts);
    }

    /// Cuts the connection that waits for it, or that will.
    pub(crate) fn cut(&self) {
        self.state.cut.notify_one();
    }

    /// Refuses connections from now on.
    pub(crate) async fn close(mut self) {
        self.accepting.abort();
        let _ = (&mut self.accepting).await;
    }

    /// The method of each connection's first request.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl State {
    async fn serve(&self, socket: TcpStream, port: u16) -> io::Result<()> {
        let mut client = BufReader::new(socket);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if client.read_until(b'\n', &mut head).await? == 0 {
                return Ok(());
            }
        }
        let method = String::from_utf8_lossy(head.split(|byte| *byte == b' ').next().unwrap()).into_owned();
        let cut = {
            let mut cuts = self.cuts.lock().unwrap();
            self.asked.lock().unwrap().push(method.clone());
            if cuts.is_empty() { None } else { Some(cuts.remove(0)) }
        };
        match cut {
            Some(Cut::BeforeForwarding) => return Ok(()),
            Some(Cut::Refusing(status)) => {
                let refusal =
                    format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                return client.write_all(refusal.as_bytes()).await;
            }
            Some(Cut::AfterForwarding | Cut::InTheAnswer(_)) | None => {}
        }
        let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
        if method == "CONNECT" {
            client.write_all(b"HTTP/1.1 200 Go on\r\n\r\n").await?;
        } else {
            server.write_all(&head).await?;
        }
        let (mut from_client, mut to_client) = io::split(client);
        let (from_server, mut to_server) = server.split();
        let limit = if let Some(Cut::InTheAnswer(bytes)) = cut { bytes } else { u64::MAX };
        let mut from_server = from_server.take(limit);
        let cut = async {
            match cut {
                Some(Cut::AfterForwarding) => self.cut.notified().await,
                _ => std::future::pending().await,
            }
        };
        // Whichever ends, both connections end with it.
        tokio::select! {
            copied = io::copy(&mut from_client, &mut to_server) => copied.map(drop),
            copied = io::copy(&mut from_server, &mut to_client) => copied.map(drop),
            () = cut => Ok(()),
        }
    }
}
