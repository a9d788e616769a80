//! Holds what was claimed of calls against what servers have done.

use std::{collections::HashMap, fmt};

use mcp_tool_cli::fault_server::Record;

use crate::calls::{Claim, Said};

/// More attempts than this are made of no invocation.
const CEILING: u32 = 8;

/// What a round came to. There is none for a round with a false claim.
pub(crate) struct Verdict {
    calls: usize,
    executions: usize,
    again: usize,
    processes: usize,
    attempts: u64,
    received: usize,
}

/// `attempts` is what the clients say of all these calls together.
pub(crate) fn judge(claims: &[Claim], records: Vec<Record>, attempts: u64) -> Verdict {
    let mut runs: HashMap<u64, u32> = HashMap::new();
    let (mut processes, mut received) = (0, 0);
    for record in &records {
        processes += record.starts().len();
        received += record.received().len();
        for execution in record.executions() {
            if let Some(key) = execution.key.as_u64() {
                *runs.entry(key).or_default() += 1;
            }
        }
    }
    let wrong: Vec<_> = claims.iter().filter_map(|claim| complaint(claim, &runs)).collect();
    assert!(wrong.is_empty(), "{} of {} calls:\n{}", wrong.len(), claims.len(), wrong.join("\n"));
    assert!(received as u64 <= attempts, "{received} calls were read, {attempts} were told of");
    let again = runs.values().filter(|runs| **runs > 1).count();
    let executions = runs.values().map(|runs| *runs as usize).sum();
    Verdict { calls: claims.len(), executions, again, processes, attempts, received }
}

fn complaint(claim: &Claim, runs: &HashMap<u64, u32>) -> Option<String> {
    let Claim { key, permitted, said } = claim;
    let runs = runs.get(key).copied().unwrap_or_default();
    let (least, most) = match *said {
        Said::Result(attempts) => (1, attempts),
        Said::ErrorAnswer(attempts) | Said::Unknown(attempts) => (0, attempts),
        Said::NotExecuted => (0, 0),
        Said::Nothing => (0, CEILING),
    };
    let most = if *permitted { most } else { most.min(1) };
    let is_true = (least..=most).contains(&runs) && most <= CEILING;
    (!is_true).then(|| format!("{key} ({said:?}, permitted: {permitted}) ran {runs} times"))
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, executions, again, processes, attempts, received } = self;
        write!(
            f,
            "{calls} calls, {attempts} attempts, {received} read by {processes} processes, \
             {executions} executions, {again} calls ran again with permission"
        )
    }
}
