//! Callers who never rest, and what they were told of each call.

use std::time::{Duration, Instant};

use mcp_tool::{Answer, CallReply, CancellationToken, Outcome, Servers, ToolCall, ToolError};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    definition::TOOLS,
    fleet::{NAMES, UNTRUSTED},
    numbers::Numbers,
};

const CALLERS: u64 = 24;

/// A call may end this much after its deadline. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is claimed of one call.
pub(crate) struct Claim {
    pub(crate) key: u64,
    /// Whether it may run more than once.
    pub(crate) permitted: bool,
    pub(crate) said: Said,
}

#[derive(Debug)]
pub(crate) enum Said {
    /// A result that is none of an error, after so many attempts.
    Result(u32),
    /// Another answer.
    ErrorAnswer(u32),
    NotExecuted,
    Unknown(u32),
    /// Its caller has dropped it.
    Nothing,
}

/// Callers at work.
pub(crate) struct Callers(JoinSet<Vec<Claim>>);

impl Callers {
    /// They begin no call after this moment.
    pub(crate) fn start(servers: Servers, seed: u64, end: Instant) -> Self {
        let callers = (0..CALLERS).map(|number| {
            let servers = servers.clone();
            // Every call of a soak has another key.
            let numbers = Numbers(seed.wrapping_add(number << 48));
            call_on(servers, numbers, end)
        });
        Self(callers.collect())
    }

    pub(crate) async fn join(self) -> Vec<Claim> {
        self.0.join_all().await.into_iter().flatten().collect()
    }
}

async fn call_on(servers: Servers, mut numbers: Numbers, end: Instant) -> Vec<Claim> {
    let mut claims = Vec::new();
    while Instant::now() < end {
        claims.extend(call(&servers, &mut numbers).await);
        sleep(Duration::from_millis(numbers.below(100))).await;
    }
    claims
}

async fn call(servers: &Servers, numbers: &mut Numbers) -> Option<Claim> {
    let (name, _) = NAMES[numbers.below(NAMES.len() as u64) as usize];
    let server = servers.get(name)?;
    let (tool, is_safe) = TOOLS[numbers.below(TOOLS.len() as u64) as usize];
    let key = numbers.below(u64::MAX);
    let deadline = Duration::from_millis(200 + numbers.below(3_000));
    let token = CancellationToken::new();
    let call = ToolCall::new(tool)
        .with_argument("key", key)
        .with_argument("value", "x".repeat(numbers.below(300) as usize))
        .with_deadline(deadline)
        .with_cancellation(token.clone());
    let began = Instant::now();
    // A handle that was taken a while ago, or the tool by its name.
    let handles = if numbers.below(4) == 0 { server.tools() } else { Vec::new() };
    let handle = handles.into_iter().find(|handle| handle.name() == tool);
    let stale = Duration::from_millis(numbers.below(500));
    let calling = async {
        match handle {
            Some(handle) => {
                sleep(stale).await;
                handle.call(call).await
            }
            None => server.client().call(call).await,
        }
    };
    let soon = Duration::from_millis(numbers.below(400));
    let said = match numbers.below(8) {
        0 => timeout(soon, calling).await.map_or(Said::Nothing, said),
        1 => {
            let cancelling = async {
                sleep(soon).await;
                token.cancel();
            };
            said(tokio::join!(calling, cancelling).0)
        }
        _ => said(calling.await),
    };
    let took = began.elapsed();
    assert!(took < deadline + stale + PATIENCE, "{name}: {took:?} with a deadline of {deadline:?}");
    Some(Claim { key, permitted: is_safe && name != UNTRUSTED, said })
}

fn said(outcome: Result<Answer, ToolError>) -> Said {
    match outcome {
        Ok(answer) => match answer.reply {
            CallReply::Result(result) if result.is_error != Some(true) => Said::Result(answer.attempts),
            _ => Said::ErrorAnswer(answer.attempts),
        },
        Err(error) => match error.outcome() {
            Outcome::NotExecuted => Said::NotExecuted,
            Outcome::Unknown => Said::Unknown(error.attempts()),
        },
    }
}
