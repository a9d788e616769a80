//! What must be true of every round, by the ledger.

use mcp_tool::{Answer, Outcome, ToolError};
use mcp_tool_cli::fault_server::Record;

use crate::round::{Call, Round};

pub(crate) type Told = Result<Answer, ToolError>;

pub(crate) fn judge(round: &Round, told: &[Told], record: &Record) -> Vec<String> {
    let mut complaints = Vec::new();
    for (call, told) in round.calls.iter().zip(told) {
        for what in judge_one(round, call, told, record) {
            complaints.push(format!("{}: {what}: {told:?} {record:?}", call.tool));
        }
    }
    complaints
}

fn judge_one(round: &Round, call: &Call, told: &Told, record: &Record) -> Vec<&'static str> {
    let executions = record.executions_of(&call.tool).len();
    let received = record.received().iter().filter(|receipt| receipt.tool == call.tool).count();
    let attempts = match told {
        Ok(answer) => answer.attempts,
        Err(error) => error.attempts(),
    } as usize;
    let is_unsent = told.as_ref().is_err_and(|error| error.outcome() == Outcome::NotExecuted);
    let most = if call.may_be_repeated(round.trust) { attempts } else { 1 };
    let rules = [
        (told.is_err() || executions >= 1, "an answer without an execution"),
        (!is_unsent || executions == 0, "a false \"not executed\""),
        (!is_unsent || attempts == 0, "not executed, after an attempt"),
        (executions <= most, "a duplicate without permission"),
        (received <= attempts, "requests that are not counted"),
        (
            !told.as_ref().is_ok_and(|answer| answer.earlier_unknown != (answer.attempts > 1)),
            "a false word on earlier attempts",
        ),
    ];
    rules.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what).collect()
}
