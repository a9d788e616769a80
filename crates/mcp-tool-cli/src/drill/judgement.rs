use std::collections::HashSet;

use super::{Said, Subject};
use crate::fault_server::Record;

/// What a client's word is worth, held against the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// One call ran more than once, though its hints do not allow that.
    Duplicate,
    /// The client said "not executed", and the tool ran.
    FalseNotExecuted,
    /// The client said that there is an answer, and the tool never ran.
    FalseSuccess,
    /// The client said nothing within its time.
    Hung,
    /// No answer, where one was possible.
    LostRecovery,
    /// Nothing of these.
    Correct,
}

/// How there could have been an answer, without running anything twice that must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The server never read the call: delivering it after reconnecting is no repetition.
    Delivery,
    /// The rest of the event stream could have been fetched.
    Resumption,
    /// The tool is declared safe to run again, which counts where server and workspace are trusted.
    Repetition,
}

/// How many calls the client was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// One, so that whatever ran is of it.
    Once,
    /// As many as there are different values of the argument `key`.
    OncePerKey,
}

/// What a ledger and a client's word come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// How often the tool ran.
    pub executions: usize,
    /// None where it is not known what the client said, and nothing ran twice.
    pub verdict: Option<Verdict>,
    /// Whether a call ran more than once, and may.
    pub replayed: bool,
    /// Whether the fault struck. Where it did not, the client was put to no test.
    pub struck: bool,
    /// How there could have been an answer; none where there was one, none was possible, or nothing went wrong.
    pub possible: Option<Recovery>,
}

impl Judgement {
    /// Judges what a client did.
    pub fn of(subject: &Subject, record: &Record, asked: Asked, said: Option<Said>) -> Self {
        let executions = record.executions();
        let calls = match asked {
            Asked::Once => 1,
            Asked::OncePerKey => {
                executions.iter().map(|execution| execution.key.to_string()).collect::<HashSet<_>>().len()
            }
        };
        let executions = executions.len();
        let repeated = executions > calls;
        let is_answer = matches!(said, Some(Said::Answered) | None);
        let possible = if is_answer { None } else { possible(subject, record) };
        let verdict = match said {
            _ if repeated && !subject.hints.allow_repeating() => Some(Verdict::Duplicate),
            None => None,
            Some(Said::NotExecuted) if executions > 0 => Some(Verdict::FalseNotExecuted),
            Some(Said::Answered) if executions == 0 => Some(Verdict::FalseSuccess),
            Some(Said::Hung) => Some(Verdict::Hung),
            Some(Said::Answered) => Some(Verdict::Correct),
            // Whoever hears this may run it again.
            Some(Said::NotExecuted) => Some(Verdict::Correct),
            Some(Said::ErrorAnswer | Said::Unknown | Said::Error) => match possible {
                Some(_) => Some(Verdict::LostRecovery),
                None => Some(Verdict::Correct),
            },
        };
        let replayed = repeated && subject.hints.allow_repeating();
        Self { executions, verdict, replayed, struck: !record.faults().is_empty(), possible }
    }
}

fn possible(subject: &Subject, record: &Record) -> Option<Recovery> {
    if record.faults().is_empty() || !subject.fault.is_a_lost_connection() {
        return None;
    }
    if record.received().is_empty() {
        return Some(Recovery::Delivery);
    }
    if subject.fault.can_be_resumed() {
        return Some(Recovery::Resumption);
    }
    subject.hints.allow_repeating().then_some(Recovery::Repetition)
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Duplicate,
        Self::FalseNotExecuted,
        Self::FalseSuccess,
        Self::Hung,
        Self::LostRecovery,
        Self::Correct,
    ];

    /// Its stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::FalseNotExecuted => "false_not_executed",
            Self::FalseSuccess => "false_success",
            Self::Hung => "hung",
            Self::LostRecovery => "lost_recovery",
            Self::Correct => "correct",
        }
    }

    /// Whether it makes the exit code 1: the tool ran twice, or whoever believes the client runs it twice.
    pub fn runs_twice(self) -> bool {
        match self {
            Self::Duplicate | Self::FalseNotExecuted => true,
            Self::FalseSuccess | Self::Hung | Self::LostRecovery | Self::Correct => false,
        }
    }
}

impl Recovery {
    /// Its stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Delivery => "delivery",
            Self::Resumption => "resumption",
            Self::Repetition => "repetition",
        }
    }

    /// For a person.
    pub fn text(self) -> &'static str {
        match self {
            Self::Delivery => {
                "the server never read the call: it could have been delivered after reconnecting"
            }
            Self::Resumption => "the event stream could have been resumed",
            Self::Repetition => "declared safe to run again: under trust it could have been sent again",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        drill::{DrillFault, Transport},
        fault_server::Ledger,
    };

    /// Judges a client that said "an error" of a call that the server read, or not.
    fn possible(fault: DrillFault, hints: &str, lines: &[serde_json::Value]) -> Judgement {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ledger");
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let subject = Subject { transport: Transport::Http, fault, hints: hints.parse().unwrap() };
        Judgement::of(&subject, &Ledger::new(file).read().unwrap(), Asked::Once, Some(Said::Error))
    }

    #[test]
    fn an_answer_was_possible_where_the_library_would_have_come_to_one() {
        use Recovery::{Delivery, Repetition, Resumption};
        let struck = json!({"event": "fault", "start": 1, "fault": "of whatever kind"});
        let read =
            json!({"event": "received", "start": 1, "call": 1, "id": 1, "tool": "write", "arguments": ""});
        let read = [read, struck.clone()];
        #[rustfmt::skip]
        let rows = [
            // fault                              never read       read, without hints  read, idempotent
            (DrillFault::None,                    None,            None,                None),
            (DrillFault::DieBeforeCommit,         Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::DieAfterCommit,          Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::StdoutClosed,            Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::PartialResponse,         Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::Hang,                    None,            None,                None),
            (DrillFault::DiedIdle,                Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::Reset,                   Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::SseClosed,               Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::SseClosedResumable,      Some(Delivery),  Some(Resumption),    Some(Resumption)),
            (DrillFault::BadGateway,              None,            None,                None),
            (DrillFault::SessionLost,             Some(Delivery),  None,                Some(Repetition)),
            (DrillFault::SessionLostAfterCommit,  Some(Delivery),  None,                Some(Repetition)),
        ];
        assert!(rows.iter().map(|row| row.0).eq(DrillFault::ALL));
        for (fault, unread, bare, safe) in rows {
            for (hints, lines, expected) in [
                ("none", std::slice::from_ref(&struck), unread),
                ("none", &read[..], bare),
                ("contradictory", &read[..], bare),
                ("idempotent", &read[..], safe),
                // A client that failed by itself.
                ("idempotent", &read[..1], None),
                ("idempotent", &[], None),
            ] {
                let judged = possible(fault, hints, lines);
                let verdict = if expected.is_some() { Verdict::LostRecovery } else { Verdict::Correct };
                assert_eq!((judged.possible, judged.verdict), (expected, Some(verdict)), "{fault}, {hints}");
            }
        }
    }

    #[test]
    fn codes_are_unique() {
        let codes: std::collections::HashSet<_> = Verdict::ALL.into_iter().map(Verdict::code).collect();
        assert_eq!(codes.len(), Verdict::ALL.len());
    }
}
