use std::{
    future::Future,
    io,
    sync::{Arc, OnceLock},
};

use mcp_tool::CancellationToken;

use super::{exit::Exit, problem::Problem, screen::Screen};

/// What a command's work hears of signals, and what it has told already.
#[derive(Clone)]
pub(crate) struct Interruption {
    /// Cancelled by the first signal.
    pub(crate) token: CancellationToken,
    told: Arc<OnceLock<Exit>>,
}

impl Interruption {
    /// The outcome was told: whatever signal comes while the server is being ended, this is the exit.
    pub(crate) fn told(&self, exit: Exit) {
        // The first one was told.
        let _ = self.told.set(exit);
    }
}

/// Runs a command's work on a runtime of its own, and ends it when somebody asks for that.
///
/// The first signal (Ctrl-C, SIGTERM, SIGHUP; on Windows Ctrl-C, Ctrl-Break) cancels the token: the work ends soon, says what is known
/// and closes what it opened. A second one ends the work where it stands. Either way no server outlives
/// this: the runtime kills, as it goes down, whoever is left.
pub(crate) fn until_interrupted<W>(
    screen: &Screen,
    work: impl FnOnce(Interruption) -> W,
) -> Result<Exit, Problem>
where
    W: Future<Output = Result<Exit, Problem>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let interruption = Interruption { token: CancellationToken::new(), told: Arc::default() };
        let told = || interruption.told.get().copied();
        let interrupted = async {
            signals.next().await;
            interruption.token.cancel();
            screen.line(match told() {
                None => "cancelling; once more to end at once",
                Some(_) => "ending the server; once more to end at once",
            });
            signals.next().await;
        };
        tokio::select! {
            biased;
            () = interrupted => Ok(told().unwrap_or(Exit::Cancelled)),
            exit = work(interruption.clone()) => exit,
        }
    });
    // Tasks are dropped all the same; only a name that is still being resolved is not waited for.
    runtime.shutdown_background();
    exit
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC, tokio::signal::windows::CtrlBreak);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?, tokio::signal::windows::ctrl_break()?))
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}
