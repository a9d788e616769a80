//! What a server's process does besides answering.

use super::{Finding, ProcessFacts, Rule};

/// What fits into a pipe that nobody reads, on Linux.
const PIPE: usize = 64 * 1024;

pub(super) fn look(facts: Option<&ProcessFacts>, findings: &mut Vec<Finding>) {
    let Some(facts) = facts else { return };
    let mut found = |rule, message: String| findings.push(Finding::of_server(rule, message));
    match facts.stray_lines {
        0 => {}
        1 => found(Rule::StrayOutput, "a line on standard output is no message of the protocol".into()),
        lines => {
            found(
                Rule::StrayOutput,
                format!("{lines} lines on standard output are no messages of the protocol"),
            );
        }
    }
    if facts.outlived_input {
        found(Rule::OutlivesInput, "it still ran 2 s after its standard input was closed".into());
    }
    if facts.stderr_bytes > PIPE {
        let kib = facts.stderr_bytes.div_ceil(1024);
        found(Rule::StderrFlood, format!("{kib} KiB on standard error, without a call"));
    }
}
