//! A server behind a relay.

use mcp_tool::{Client, HttpConnector, PagingDiscovery, ToolCall};
use rustix::process::Signal;
use tokio::time::sleep;

use crate::{
    bench::process::{runs, signal, until},
    judge::{Told, judge},
    pipes::call_all,
    relay::{Passes, Relay},
    round::{PATIENT, Round, SocketHarm},
    server::Server,
};

/// Whoever finds a session lost may not send again; the next one finds a new session.
const TRIES: usize = 3;

pub(crate) async fn play(round: &Round, harm: SocketHarm) -> (Vec<Told>, Vec<String>) {
    let server = Server::start(&round.scenario()).await;
    let relay = Relay::to(server.port()).await;
    let discovery = PagingDiscovery::new(HttpConnector::new(&relay.url()).expect("a URL"));
    let client = Client::with_discovery("bench", discovery.clone()).trust(round.trust).build();
    client.catalog().await.expect("a server that is there");
    let calling = call_all(&client, round);
    sleep(round.after).await;
    match harm {
        SocketHarm::Reset => relay.reset(),
        SocketHarm::HalfOpen => relay.pass(Passes::Nothing),
        SocketHarm::Deaf => relay.pass(Passes::Requests),
        SocketHarm::Kill => send(&server, Signal::KILL),
        SocketHarm::StopAndContinue => send(&server, Signal::STOP),
    }
    sleep(round.lasts).await;
    if let SocketHarm::StopAndContinue = harm {
        send(&server, Signal::CONT);
    }
    let told = calling.await;
    relay.pass(Passes::Everything);
    let mut complaints = Vec::new();
    if let Err(complaint) = comes_back(&client).await {
        complaints.push(format!("{complaint}, {:?}", server.record()));
    }
    drop(client);
    discovery.close().await;
    drop(discovery);
    let record = server.record();
    server.stop().await;
    for pid in record.pids() {
        until(&format!("process {pid} to end"), || !runs(pid)).await;
    }
    complaints.extend(judge(round, &told, &record));
    (told, complaints)
}

/// Once nothing is in its way, the client is as good as new.
async fn comes_back(client: &Client) -> Result<(), String> {
    let mut told = String::new();
    for _ in 0..TRIES {
        match client.call(ToolCall::new("afterwards").with_deadline(PATIENT)).await {
            Ok(_) => return Ok(()),
            Err(error) => told = format!("does not come back: {error:?}"),
        }
    }
    Err(told)
}

/// To the server that was started last.
fn send(server: &Server, what: Signal) {
    if let Some(pid) = server.record().starts().last() {
        signal(*pid, what);
    }
}
