//! A server that is a child of ours.

use mcp_tool::{Client, PagingDiscovery, ReplayPolicy, ToolCall};
use rustix::process::Signal;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    bench::{Bench, gone, process::signal},
    judge::{Told, judge},
    round::{PATIENT, PipeHarm, Round},
};

pub(crate) async fn play(
    round: &Round,
    harm: PipeHarm,
    policy: impl ReplayPolicy + 'static,
) -> (Vec<Told>, Vec<String>) {
    let bench = Bench::new(&format!("chaos-{}", round.seed));
    let discovery = PagingDiscovery::new(bench.connector(&round.scenario()));
    let client = Client::with_discovery("bench", discovery.clone());
    let client = client.policy(policy).trust(round.trust).build();
    client.catalog().await.expect("a server that is there");
    let calling = call_all(&client, round);
    sleep(round.after).await;
    match harm {
        PipeHarm::Kill => send(&bench, Signal::KILL),
        PipeHarm::KillTwice => {
            send(&bench, Signal::KILL);
            sleep(round.lasts).await;
            send(&bench, Signal::KILL);
        }
        PipeHarm::StopAndContinue => {
            send(&bench, Signal::STOP);
            sleep(round.lasts).await;
            send(&bench, Signal::CONT);
        }
        PipeHarm::StopAndKill => {
            send(&bench, Signal::STOP);
            sleep(round.lasts).await;
            send(&bench, Signal::KILL);
        }
        // Of its own accord, on one of the calls.
        PipeHarm::CloseInput | PipeHarm::CloseOutput | PipeHarm::FillThePipe => {}
    }
    let told = calling.await;
    let mut complaints = Vec::new();
    if let Err(complaint) = comes_back(&client, &bench).await {
        complaints.push(complaint);
    }
    drop(client);
    discovery.close().await;
    drop(discovery);
    bench.all_gone().await;
    complaints.extend(judge(round, &told, &bench.record()));
    (told, complaints)
}

/// All at once; in the order of the round.
pub(crate) fn call_all(client: &Client, round: &Round) -> impl Future<Output = Vec<Told>> + use<> {
    let mut calls = JoinSet::new();
    for (number, call) in round.calls.iter().enumerate() {
        let (client, call) = (client.clone(), call.to_call(round.harm));
        calls.spawn(async move { (number, client.call(call).await) });
    }
    async move {
        let mut told = calls.join_all().await;
        told.sort_by_key(|(number, _)| *number);
        told.into_iter().map(|(_, told)| told).collect()
    }
}

/// Once its server is out of the way, the client is as good as new. (A process that is being killed may
/// still take a request from its pipe.)
async fn comes_back(client: &Client, bench: &Bench) -> Result<(), String> {
    send(bench, Signal::KILL);
    if let Some(pid) = bench.record().starts().last() {
        gone(*pid).await;
    }
    let call = ToolCall::new("afterwards").with_deadline(PATIENT);
    match client.call(call).await {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("does not come back: {error:?}, {:?}", bench.record())),
    }
}

/// To the server that was started last.
fn send(bench: &Bench, what: Signal) {
    if let Some(pid) = bench.record().starts().last() {
        signal(*pid, what);
    }
}
