use std::{env, sync::Arc};

use mcp_tool::{Answer, Client, Outcome, ToolCall, ToolError, Trust};
use mcp_tool_cli::fault_server::{Fault, Record, Scenario, ToolSpec, When};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::{bench::Bench, numbers::Numbers};

const LOSSES: u64 = 2_000;
/// Client and server at the same time.
const AT_ONCE: usize = 6;

/// What is drawn for one loss.
struct Draw {
    seed: u64,
    fault: Fault,
    annotations: Option<Value>,
    trust: Trust,
    /// Bytes of text among the arguments.
    text: usize,
}

impl Draw {
    fn of(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let fault = match numbers.below(8) {
            0 => Fault::DieUnread { when: When::Millis(numbers.below(4)) },
            // Every call is longer.
            1 => Fault::DieMidRead { bytes: numbers.below(100) as usize },
            2 | 3 => Fault::DieAfterBytes { bytes: numbers.below(100) as usize },
            4 => Fault::DieBeforeCommit,
            5 => Fault::DieAfterCommit,
            6 => Fault::DieMidAnswer,
            _ => Fault::CloseStdout,
        };
        let annotations = match numbers.below(3) {
            0 => None,
            1 => Some(json!({ "idempotentHint": true })),
            _ => Some(json!({ "readOnlyHint": false })),
        };
        let trust = match numbers.below(3) {
            0 => Trust::NONE,
            1 => Trust::NONE.with_trusted_server(),
            _ => Trust::BOTH,
        };
        // The last is more than a pipe holds.
        let text = [0, 1_000, 100_000][numbers.below(3) as usize];
        Self { seed, fault, annotations, trust, text }
    }

    fn may_be_repeated(&self) -> bool {
        self.trust == Trust::BOTH && self.annotations == Some(json!({ "idempotentHint": true }))
    }

    async fn play(&self) -> (Result<Answer, ToolError>, Record) {
        let bench = Bench::new(&format!("loss-{}", self.seed));
        let tool = match &self.annotations {
            Some(annotations) => ToolSpec::new("put").annotations(annotations.clone()),
            None => ToolSpec::new("put"),
        };
        let healthy = Scenario::new().tool(tool);
        let scenario = healthy.clone().on_call(1, self.fault.clone()).from_start(2, healthy);
        let client = Client::builder("bench", bench.connector(&scenario)).trust(self.trust).build();
        // Connected before: a call that finds nobody is no loss.
        client.catalog().await.unwrap();
        let call = ToolCall::new("put").with_argument("text", "x".repeat(self.text));
        let result = client.call(call).await;
        drop(client);
        bench.all_gone().await;
        (result, bench.record())
    }
}

/// What is claimed is true, and whatever had not been sent was delivered.
fn judge(draw: &Draw, result: &Result<Answer, ToolError>, record: &Record) -> bool {
    let (received, executions) = (record.received(), record.executions().len());
    // Nobody but the first server meets the fault.
    let first_received = received.iter().any(|receipt| receipt.start == 1);
    let told = format!("seed {}: {:?}, {result:?}, {record:?}", draw.seed, draw.fault);
    let attempts = match result {
        Ok(answer) => answer.attempts,
        Err(error) => error.attempts(),
    } as usize;
    match result {
        Ok(_) => assert!(executions >= 1, "an answer without an execution, {told}"),
        Err(error) if error.outcome() == Outcome::NotExecuted => {
            assert_eq!(executions, 0, "a false \"not executed\", {told}");
        }
        Err(_) => {}
    }
    let most = if draw.may_be_repeated() { attempts } else { 1 };
    assert!(executions <= most, "a duplicate without permission, {told}");
    assert_eq!(received.len().max(attempts), attempts, "requests that are not counted, {told}");
    if !first_received {
        let delivered =
            result.as_ref().is_ok_and(|answer| (answer.attempts, answer.earlier_unknown) == (1, false));
        assert!(delivered && executions == 1, "never read, and not delivered, {told}");
    }
    !first_received
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_random_losses_lead_to_true_claims_and_what_was_never_read_is_delivered() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let (first, losses) = (number("LOSS_SEED").unwrap_or(1), number("LOSSES").unwrap_or(LOSSES));
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let played = (first..first + losses).map(|seed| {
        let room = room.clone();
        tokio::spawn(async move {
            let _permit = room.acquire_owned().await.unwrap();
            let draw = Draw::of(seed);
            let (result, record) = draw.play().await;
            judge(&draw, &result, &record)
        })
    });
    let mut never_read = 0;
    for loss in played.collect::<Vec<_>>() {
        never_read += u64::from(loss.await.unwrap());
    }
    println!("{losses} losses, {never_read} of them never read, and delivered");
    assert!(never_read * 10 > losses, "too few to tell anything");
}
