use std::sync::Arc;

use mcp_tool::{
    CallReply, Client, Happening, InvocationInfo, Observer, Outcome, PagingDiscovery, StdioConnector, Trust,
};
use rustix::process::Signal;
use tokio::sync::Notify;

use crate::{
    family::Family,
    process,
    server::{self, Server},
};

fn is_a_result(reply: &CallReply) -> bool {
    reply.result().is_some_and(|result| result.is_error != Some(true) && !result.content.is_empty())
}

/// The client and what it stands on.
struct Host {
    client: Client,
    discovery: PagingDiscovery<StdioConnector>,
    attempting: Arc<Notify>,
}

fn host(server: &Server, connector: StdioConnector, trust: Trust) -> Host {
    let discovery = PagingDiscovery::new(connector);
    let attempting = Arc::new(Notify::new());
    let client = Client::with_discovery(server.name, discovery.clone())
        .trust(trust)
        .observer(Attempts(attempting.clone()))
        .build();
    Host { client, discovery, attempting }
}

struct Attempts(Arc<Notify>);

impl Observer for Attempts {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        if let Happening::Attempting { .. } = happening {
            self.0.notify_one();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers that tests/real-servers/install installs"]
async fn each_server_is_listed_and_called_and_ends_with_its_connection() {
    for server in server::all() {
        let family = Family::new();
        let Host { client, discovery, .. } = host(&server, server.direct(&family), Trust::NONE);
        let catalog = client.catalog().await.unwrap_or_else(|error| panic!("{}: {error}", server.name));
        let tool = catalog.tool(server.reads.name()).expect(server.name);
        assert!(tool.hints().is_some() && catalog.quarantined().is_empty(), "{}", server.name);
        let answer = client.call(server.reads.clone()).await.unwrap();
        assert!(is_a_result(&answer.reply), "{}: {answer:?}", server.name);
        drop(catalog);
        discovery.close().await;
        family.all_gone().await;
    }
}

/// Kills while a call is under way, and expects what a trusted read-only tool leads to: an answer.
async fn killed_under_a_call(server: &Server, connector: StdioConnector, family: &Family, kill: impl Fn()) {
    let host = host(server, connector, Trust::BOTH);
    host.client.catalog().await.unwrap();
    let under_way = host.attempting.clone();
    let call = match server.slow() {
        Some(slow) => {
            let progressed = Arc::new(Notify::new());
            let told = progressed.clone();
            (slow.with_progress(move |_| told.notify_one()), progressed)
        }
        // Quick servers are stopped first. (One that announces a change of its tools at any time cannot
        // be: its tools would be asked for before the call.)
        None => {
            family.signal(Signal::STOP);
            (server.reads.clone(), under_way)
        }
    };
    let (call, under_way) = call;
    let mut calling = tokio::spawn({
        let client = host.client.clone();
        async move { client.call(call).await }
    });
    tokio::select! {
        () = under_way.notified() => {}
        ended = &mut calling => panic!("{}: ended too early, {ended:?}", server.name),
    }
    kill();
    let answer = calling.await.unwrap().unwrap_or_else(|error| panic!("{}: {error}", server.name));
    assert!(is_a_result(&answer.reply), "{}: {answer:?}", server.name);
    let next = host.client.call(server.reads.clone()).await.unwrap();
    assert_eq!((is_a_result(&next.reply), next.attempts), (true, 1), "{}", server.name);
    host.discovery.close().await;
    family.all_gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers that tests/real-servers/install installs"]
async fn a_read_is_answered_though_the_whole_tree_of_the_server_was_killed_under_it() {
    for server in server::all() {
        let family = Family::new();
        let connector = server.below_a_launcher(&family);
        killed_under_a_call(&server, connector, &family, || family.signal(Signal::KILL)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers that tests/real-servers/install installs"]
async fn a_read_is_answered_though_the_launcher_alone_was_killed_under_it_and_the_old_server_is_ended() {
    for server in server::all() {
        let family = Family::new();
        let connector = server.below_a_launcher(&family);
        killed_under_a_call(&server, connector, &family, || process::signal(family.leader(), Signal::KILL))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers that tests/real-servers/install installs"]
async fn a_call_that_had_begun_ends_unknown_without_trust_and_the_next_call_works() {
    let server = server::everything();
    let family = Family::new();
    let host = host(&server, server.direct(&family), Trust::NONE);
    let progressed = Arc::new(Notify::new());
    let told = progressed.clone();
    let call = server.slow().unwrap().with_progress(move |_| told.notify_one());
    let calling = tokio::spawn({
        let client = host.client.clone();
        async move { client.call(call).await }
    });
    progressed.notified().await;
    family.signal(Signal::KILL);
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.outcome(), error.reason().code()), (Outcome::Unknown, "server_untrusted"));
    assert!(is_a_result(&host.client.call(server.reads.clone()).await.unwrap().reply));
    host.discovery.close().await;
    family.all_gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the servers that tests/real-servers/install installs"]
async fn a_call_to_a_server_that_died_while_idle_is_delivered_without_trust() {
    for server in server::all() {
        let family = Family::new();
        let host = host(&server, server.direct(&family), Trust::NONE);
        let catalog = host.client.catalog().await.unwrap();
        family.signal(Signal::KILL);
        process::until("the end to be noticed", || catalog.transport().is_closed()).await;
        let answer = host.client.call(server.reads.clone()).await.unwrap();
        assert_eq!((is_a_result(&answer.reply), answer.attempts), (true, 1), "{}", server.name);
        drop(catalog);
        host.discovery.close().await;
        family.all_gone().await;
    }
}
