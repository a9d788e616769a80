//! Stands between a client and the server, and sees the connections that the server does not tell of.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Passes everything on, until told otherwise.
pub(crate) struct Relay {
    port: u16,
    seen: Arc<Seen>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    /// What clients wrote, per connection.
    connections: Mutex<Vec<String>>,
    ends_reused: AtomicBool,
}

impl Relay {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let accepting = tokio::spawn(accept(listener, server, seen.clone()));
        Self { port, seen, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// From now on a connection ends, by a reset, when a second request comes on it: like a server that
    /// closes an idle connection in the moment in which the client uses it again.
    pub(crate) fn end_reused_connections(&self) {
        self.seen.ends_reused.store(true, Ordering::Relaxed);
    }

    /// The requests with this text in them, head and body.
    pub(crate) fn requests_with(&self, text: &str) -> Vec<String> {
        let connections = self.seen.connections.lock().unwrap();
        connections.iter().filter(|request| request.contains(text)).cloned().collect()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: u16, seen: Arc<Seen>) {
    while let Ok((client, _)) = listener.accept().await {
        // A connection that breaks is over, and nothing else is.
        tokio::spawn(attend(client, server, seen.clone()));
    }
}

async fn attend(mut client: TcpStream, server: u16, seen: Arc<Seen>) -> std::io::Result<()> {
    let number = {
        let mut connections = seen.connections.lock().unwrap();
        connections.push(String::new());
        connections.len() - 1
    };
    let mut server = TcpStream::connect(("127.0.0.1", server)).await?;
    let (mut request, mut reply) = ([0; 4096], [0; 4096]);
    let mut answered = false;
    loop {
        tokio::select! {
            read = client.read(&mut request) => {
                let bytes = &request[..read?];
                if answered && seen.ends_reused.load(Ordering::Relaxed) {
                    return rustix::net::sockopt::set_socket_linger(&client, Some(std::time::Duration::ZERO))
                        .map_err(Into::into);
                }
                seen.connections.lock().unwrap()[number].push_str(&String::from_utf8_lossy(bytes));
                if bytes.is_empty() { server.shutdown().await? } else { server.write_all(bytes).await? }
                if bytes.is_empty() { return Ok(()); }
            }
            read = server.read(&mut reply) => {
                let bytes = &reply[..read?];
                if bytes.is_empty() { return client.shutdown().await; }
                answered = true;
                client.write_all(bytes).await?;
            }
        }
    }
}
