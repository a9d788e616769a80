//! Servers that nobody calls: what each takes of memory and of the processor. Those in memory run in this
//! process, too; what they are made of is there before anything is counted.

use std::{
    env, io,
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
use tokio::{io::DuplexStream, process::Command, runtime::Builder, time::sleep};

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

pub(crate) fn table(choice: &Choice) -> io::Result<()> {
    println!(
        "\n{:<38} {:>12} {:>12} {:>20} {:>12}",
        "idle servers, of each", "heap, KiB", "peak, KiB", "CPU, µs in a second", "over"
    );
    let by_rmcp = row("1,000 in memory, raw rmcp", IN_MEMORY, UNPROBED, streams, raw)?;
    let of_streams = |streams: Vec<DuplexStream>| set(streams.into_iter().map(once));
    let watched = choice.of(PROBED, UNPROBED);
    let by_set = row("1,000 in memory, a set that is probed", IN_MEMORY, watched, streams, of_streams)?;
    println!("{:<38} {:>12.2}", "  heap, of raw", by_set / by_rmcp);
    let nothing = || async {};
    let by_rmcp = row("100 children, raw rmcp", CHILDREN, Duration::ZERO, nothing, |()| raw_children())?;
    let children = |()| set((0..CHILDREN).map(|_| StdioConnector::new(this_program()).arg(SERVE)));
    let by_set = row("100 children, a set", CHILDREN, Duration::ZERO, nothing, children)?;
    println!("{:<38} {:>12.2}", "  heap, of raw", by_set / by_rmcp);
    Ok(())
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

/// Bytes of heap for each server, in this process. What is there before is not counted. Each row has a runtime
/// of its own, with which all that the row has made goes.
fn row<S: Future, T: Future>(
    name: &str,
    servers: usize,
    watched: Duration,
    there: impl FnOnce() -> S,
    connect: impl FnOnce(S::Output) -> T,
) -> io::Result<f64> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let there = runtime.block_on(there());
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let connected = runtime.block_on(connect(there));
    let cpu = cpu_time();
    runtime.block_on(async { sleep(watched).await });
    let cpu = (cpu_time() - cpu).as_secs_f64() * 1e6 / servers as f64;
    let each = |now: usize| now.saturating_sub(before) as f64 / servers as f64;
    let (heap, peak) = (each(ALLOCATOR.current_usage()), each(ALLOCATOR.peak_usage()));
    let (cpu, over) = match watched {
        Duration::ZERO => (String::new(), String::new()),
        watched => (format!("{:.2}", cpu / watched.as_secs_f64()), format!("{watched:?}")),
    };
    println!("{name:<38} {:>12.1} {:>12.1} {cpu:>20} {over:>12}", heap / 1024.0, peak / 1024.0);
    // Within its runtime.
    runtime.block_on(async { drop(connected) });
    Ok(heap)
}

fn this_program() -> PathBuf {
    env::current_exe().expect("this program has a path")
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("time is not negative")
}
