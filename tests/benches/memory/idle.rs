//! Servers that nobody calls: what each takes of memory and of the processor. Those in memory run in this
//! process, too; what they are made of is there before anything is counted.

use std::{
    env,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_tool::{
    Connector, ServerEntry, Servers, StdioConnector, StdioTransport, Transport, Trust, connector_fn,
    rmcp::{
        serve_client,
        service::{ClientLifecycleMode, RoleClient, RunningService},
        transport::TokioChildProcess,
    },
};
use rustix::time::{ClockId, clock_gettime};
use tokio::{io::DuplexStream, process::Command, runtime::Runtime, time::sleep};

use crate::{
    ALLOCATOR,
    choice::Choice,
    line_server::{SERVE, serve},
};

const IN_MEMORY: usize = 1_000;
const CHILDREN: usize = 100;
/// A little longer than the pause between two probes: every server is probed once.
const PROBED: Duration = Duration::from_secs(31);
/// Before any of them is.
const UNPROBED: Duration = Duration::from_secs(10);

pub(crate) fn table(choice: &Choice, runtime: &Runtime) {
    println!(
        "\n{:<38} {:>12} {:>12} {:>20} {:>12}",
        "idle servers, of each", "heap, KiB", "peak, KiB", "CPU, µs in a second", "over"
    );
    runtime.block_on(async {
        let by_rmcp = row("1,000 in memory, raw rmcp", IN_MEMORY, UNPROBED, raw(streams().await)).await;
        let connecting = set(streams().await.into_iter().map(once));
        let watched = choice.of(PROBED, UNPROBED);
        let by_set = row("1,000 in memory, a set that is probed", IN_MEMORY, watched, connecting).await;
        println!("{:<38} {:>12.2}", "  heap, of raw", by_set / by_rmcp);
        let by_rmcp = row("100 children, raw rmcp", CHILDREN, Duration::ZERO, raw_children()).await;
        let connecting = set((0..CHILDREN).map(|_| StdioConnector::new(this_program()).arg(SERVE)));
        let by_set = row("100 children, a set", CHILDREN, Duration::ZERO, connecting).await;
        println!("{:<38} {:>12.2}", "  heap, of raw", by_set / by_rmcp);
    });
}

/// Clients' ends of connections to servers that wait for a first line.
async fn streams() -> Vec<DuplexStream> {
    let (ours, theirs): (Vec<_>, Vec<_>) = (0..IN_MEMORY).map(|_| tokio::io::duplex(64 * 1024)).unzip();
    theirs.into_iter().for_each(|stream| drop(tokio::spawn(serve(stream))));
    for _ in 0..IN_MEMORY {
        // Some of the servers get their turn each time.
        tokio::task::yield_now().await;
    }
    ours
}

async fn raw(streams: Vec<DuplexStream>) -> Vec<RunningService<RoleClient, ()>> {
    let mut services = Vec::new();
    for stream in streams {
        services.push(serve_client((), stream).await.expect("the server initializes"));
    }
    services
}

async fn raw_children() -> Vec<RunningService<RoleClient, ()>> {
    let mut services = Vec::new();
    for _ in 0..CHILDREN {
        let mut command = Command::new(this_program());
        command.arg(SERVE);
        let child = TokioChildProcess::new(command).expect("this program starts");
        services.push(serve_client((), child).await.expect("the server initializes"));
    }
    services
}

/// A set, watched over with the default settings: probed after 30 s without a call.
async fn set(entries: impl Iterator<Item = impl Connector + 'static>) -> Servers {
    let servers = Servers::builder().trust(Trust::BOTH).build();
    let entry = |(number, connector)| ServerEntry::new(format!("{number:04}"), connector);
    servers.apply(entries.enumerate().map(entry)).await;
    for (name, connected) in servers.connect_all().await {
        connected.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    servers
}

/// Reaches the server at the other end of this stream.
fn once(stream: DuplexStream) -> impl Connector {
    let stream = Mutex::new(Some(stream));
    connector_fn(move || {
        let stream = stream.lock().expect("nobody panics").take().expect("it connects once");
        async move {
            let (reader, writer) = tokio::io::split(stream);
            let connecting = StdioTransport::over(reader, writer, (), ClientLifecycleMode::Initialize);
            Ok(Arc::new(connecting.await?) as Arc<dyn Transport>)
        }
    })
}

/// Bytes of heap for each server, in this process.
async fn row<T>(name: &str, servers: usize, watched: Duration, connecting: impl Future<Output = T>) -> f64 {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let connected = connecting.await;
    let cpu = cpu_time();
    sleep(watched).await;
    let cpu = (cpu_time() - cpu).as_secs_f64() * 1e6 / servers as f64;
    let each = |now: usize| now.saturating_sub(before) as f64 / servers as f64;
    let (heap, peak) = (each(ALLOCATOR.current_usage()), each(ALLOCATOR.peak_usage()));
    let (cpu, over) = match watched {
        Duration::ZERO => (String::new(), String::new()),
        watched => (format!("{:.2}", cpu / watched.as_secs_f64()), format!("{watched:?}")),
    };
    println!("{name:<38} {:>12.1} {:>12.1} {cpu:>20} {over:>12}", heap / 1024.0, peak / 1024.0);
    drop(connected);
    heap
}

fn this_program() -> PathBuf {
    env::current_exe().expect("this program has a path")
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("time is not negative")
}
