//! Stands between a client and the server, and is what goes wrong between two machines.

use std::{io, sync::Arc, time::Duration};

use rustix::net::sockopt::set_socket_linger;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::{JoinHandle, JoinSet},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passes {
    Everything,
    /// Nobody is told of it.
    Nothing,
    /// No answers.
    Requests,
}

pub(crate) struct Relay {
    port: u16,
    passes: watch::Sender<Passes>,
    resets: Arc<watch::Sender<u32>>,
    accepting: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (passes, passing) = watch::channel(Passes::Everything);
        let resets = Arc::new(watch::channel(0).0);
        let resetting = resets.clone();
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                // A connection that breaks is over, and nothing else is.
                connections.spawn(attend(client, server, passing.clone(), resetting.subscribe()));
            }
        });
        Self { port, passes, resets, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(crate) fn pass(&self, what: Passes) {
        self.passes.send_replace(what);
    }

    /// Every connection of now ends by a reset.
    pub(crate) fn reset(&self) {
        self.resets.send_modify(|resets| *resets += 1);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn attend(
    client: TcpStream,
    server: u16,
    passing: watch::Receiver<Passes>,
    mut resets: watch::Receiver<u32>,
) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server)).await?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    tokio::select! {
        _ = resets.changed() => {}
        _ = async {
            tokio::join!(
                copy(&mut from_client, &mut to_server, passing.clone(), |passes| passes != Passes::Nothing),
                copy(&mut from_server, &mut to_client, passing.clone(), |passes| passes == Passes::Everything),
            )
        } => return Ok(()),
    }
    for half in [to_client, to_server] {
        set_socket_linger(half.as_ref(), Some(Duration::ZERO))?;
        // Else the end would come before the reset.
        half.forget();
    }
    Ok(())
}

async fn copy(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mut passing: watch::Receiver<Passes>,
    passes: impl Fn(Passes) -> bool,
) -> io::Result<()> {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut bytes).await?;
        // What was read while nothing passes is lost, and what ends meanwhile ends unheard.
        if !passes(*passing.borrow()) {
            let _ = passing.wait_for(|what| passes(*what)).await;
            return Ok(());
        }
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..read]).await?;
    }
}
