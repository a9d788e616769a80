use std::{ffi::OsString, io, path::PathBuf, sync::Arc, time::Duration};

use mcp_tool::{
    Answer, CancellationToken, Client, Connector, HttpConnector, Observer, Outcome, StdioConnector, ToolCall,
    ToolError, TrustSource, mcp_transport::Event,
};
use tokio::{sync::Notify, time::Instant};

use super::{listener::Listener, timeline::Timeline};
use crate::fault_server::{Ledger, Record, Scenario};

/// How long a server may take to do, and to show, what a row waits for.
const LEDGER: Duration = Duration::from_secs(20);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(2);

/// What tells the call that a row is about from the one before it.
const KEY: &str = "the call";

/// The program that plays the fault server.
#[derive(Clone, Debug)]
pub struct Server {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
}

/// One thing that can go wrong, and what must come of it.
pub(super) struct Row {
    pub(super) over: Over,
    pub(super) happened: &'static str,
    pub(super) scenario: Scenario,
    pub(super) trust: Arc<dyn TrustSource>,
    pub(super) observer: Option<Arc<dyn Observer>>,
    pub(super) course: Course,
    pub(super) expected: Expected,
    pub(super) why: &'static str,
}

/// How the server is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    Stdio,
    Http,
}

/// What is done besides the one call.
#[derive(Clone)]
pub(super) enum Course {
    /// Nothing.
    Call,
    /// A call before it is answered, and the server dies after that.
    CallAfterIdleDeath,
    /// The caller cancels once the tool has run.
    Cancel,
    /// A call before it is answered; then the server is down, until the call could not be sent, which the
    /// row's observer tells.
    CallWhileDown(Arc<Notify>),
}

/// What must come of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Expected {
    pub(super) executions: usize,
    pub(super) got: Got,
}

/// What the caller got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Got {
    Answer,
    ErrorAnswer,
    NotRun(&'static str),
    MayHaveRun(&'static str),
}

/// A row that was played.
pub(super) struct Played {
    pub(super) over: Over,
    pub(super) happened: &'static str,
    pub(super) why: &'static str,
    pub(super) expected: Expected,
    pub(super) real: Expected,
    /// What happened to the call, step by step.
    pub(super) timeline: String,
}

impl Played {
    pub(super) fn held(&self) -> bool {
        self.expected == self.real
    }
}

impl Row {
    pub(super) async fn play(self, server: &Server, ledger: PathBuf) -> io::Result<Played> {
        let ledger = Ledger::new(ledger);
        let arguments = [server.arguments.clone(), self.scenario.to_args(ledger.path())].concat();
        let (connector, listener) = match self.over {
            Over::Stdio => {
                let stdio = StdioConnector::new(&server.program).args(&arguments);
                (Box::new(stdio) as Box<dyn Connector>, None)
            }
            Over::Http => {
                let mut listener = Listener::new(&server.program, arguments);
                let url = match listener.start() {
                    Ok(()) => format!("http://127.0.0.1:{}/mcp", listener.port(&ledger).await?),
                    // As over stdio, a server that cannot be started is one that cannot be reached.
                    Err(_) => "http://127.0.0.1:1/mcp".to_owned(),
                };
                (Box::new(HttpConnector::new(&url).map_err(io::Error::other)?) as _, Some(listener))
            }
        };
        let timeline = Timeline::default();
        let client = Client::builder("demo", connector).trust(self.trust);
        let client = match self.observer {
            Some(observer) => client.observer((timeline.clone(), observer)).build(),
            None => client.observer(timeline.clone()).build(),
        };
        let token = CancellationToken::new();
        let call = ToolCall::new("put").with_argument("key", KEY).with_cancellation(token.clone());
        let before = ToolCall::new("put").with_argument("key", "the call before");
        let result = match (self.course, listener) {
            (Course::CallAfterIdleDeath, _) => match client.catalog().await {
                Ok(catalog) => {
                    let mut events = catalog.transport().events();
                    client.call(before).await.map_err(io::Error::other)?;
                    // Until it is known here: before that, the call could still land in the pipe.
                    let closed = async { while events.next().await != Event::Closed {} };
                    tokio::time::timeout(LEDGER, closed).await?;
                    client.call(call).await
                }
                Err(_) => client.call(call).await,
            },
            (Course::Cancel, _) => {
                let cancelling = async {
                    let ran = wait_for(&ledger, |record| !record.executions().is_empty()).await;
                    token.cancel();
                    match ran {
                        Ok(_) => std::future::pending().await,
                        Err(error) => error,
                    }
                };
                tokio::select! {
                    result = client.call(call) => result,
                    error = cancelling => return Err(error),
                }
            }
            (Course::CallWhileDown(failed), Some(mut listener)) if client.call(before).await.is_ok() => {
                listener.stop()?;
                let coming_back = async {
                    failed.notified().await;
                    listener.start()
                };
                let (result, back) = tokio::join!(client.call(call), coming_back);
                back?;
                result
            }
            (Course::Call | Course::CallWhileDown(_), _listener) => client.call(call).await,
        };
        drop(client);
        let record = ledger.read()?;
        let executions = record.executions().iter().filter(|execution| execution.key == KEY).count();
        let real = Expected { executions, got: got(result.as_ref()) };
        let timeline = timeline.line(&record);
        let Self { over, happened, why, expected, .. } = self;
        Ok(Played { over, happened, why, expected, real, timeline })
    }
}

fn got(result: Result<&Answer, &ToolError>) -> Got {
    match result {
        Ok(answer) if answer.reply.is_error() => Got::ErrorAnswer,
        Ok(_) => Got::Answer,
        Err(error) => match error.outcome() {
            Outcome::NotExecuted => Got::NotRun(error.reason().code()),
            Outcome::Unknown => Got::MayHaveRun(error.reason().code()),
        },
    }
}

/// The ledger as soon as it shows what is wanted.
pub(super) async fn wait_for(ledger: &Ledger, wanted: impl Fn(&Record) -> bool) -> io::Result<Record> {
    let until = Instant::now() + LEDGER;
    loop {
        let record = ledger.read()?;
        if wanted(&record) {
            return Ok(record);
        }
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        tokio::time::sleep(LOOK).await;
    }
}
