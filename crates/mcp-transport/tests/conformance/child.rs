//! A child process: a shell, and two `cat`s that carry both directions through named pipes to the far end. A
//! third pipe is held open by all of them, and ends with the last: the shell, which goes on when its input ends.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use mcp_transport::{
    StdioConnector, Transport,
    contract::{self, Bench, FarEnd, Unsupported},
    rmcp::service::ClientLifecycleMode,
};
use tokio::{io::AsyncReadExt, net::unix::pipe, task};

use crate::{is_kept, lines};

/// The kernel's for three pipes, and that of the `cat`.
const ROOM: usize = 3 * 65_536 + 262_144;

struct Child;

#[async_trait::async_trait]
impl Bench for Child {
    async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
        let pipes = Pipes::new();
        let receiver = |name| pipe::OpenOptions::new().open_receiver(pipes.path(name)).expect("a named pipe");
        let (incoming, mut life) = (receiver("in"), receiver("life"));
        let script = r#"exec 9> "$1/life"; cat "$1/out" & exec >&-; cat > "$1/in"; exec sleep 600"#;
        let child = StdioConnector::new("sh")
            .args(["-c", script, "sh"])
            .arg(&pipes.0)
            .with_lifecycle(ClientLifecycleMode::Initialize)
            .with_grace(Duration::from_millis(100));
        let starting = tokio::spawn(async move { child.start().await });
        // It opens for one side once the other has, and does not wait for that.
        let out = loop {
            match pipe::OpenOptions::new().open_sender(pipes.path("out")) {
                Ok(out) => break out,
                Err(_) if starting.is_finished() => panic!("the shell has ended"),
                Err(_) => task::yield_now().await,
            }
        };
        // Before the other side has opened it, it would be at its end.
        incoming.readable().await.expect("a named pipe");
        tokio::spawn(async move {
            tokio::select! {
                () = lines::serve(far_end.clone(), incoming, out) => {}
                _ = life.read_u8() => return,
            }
            // Whatever of it still runs can act.
            let _ = life.read_u8().await;
            drop(far_end);
        });
        let transport = starting.await.expect("it does not panic").expect("the handshake succeeds");
        Ok(Arc::new(transport))
    }

    fn room(&self) -> usize {
        ROOM
    }
}

/// A folder with the named pipes.
struct Pipes(PathBuf);

impl Pipes {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let pipes = Self(folder);
        let made = Command::new("mkfifo").args(["in", "out", "life"].map(|name| pipes.path(name))).status();
        assert!(made.expect("mkfifo").success());
        pipes
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Pipes {
    /// Whoever has opened them keeps them.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn the_stdio_transport_keeps_the_contract_over_a_child() {
    is_kept(&contract::examine(Child).await, &[]);
}
