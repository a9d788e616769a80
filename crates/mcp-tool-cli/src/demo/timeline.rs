use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mcp_tool::{
    Happening, InvocationInfo, Observer, Outcome,
    machine::AttemptKind,
    mcp_discovery::ConnectionId,
    mcp_transport::ErrorKind,
    replay_policy::{Decision, Delivery},
};

use crate::fault_server::{Event, Record};

/// What happened to one call, in its order, as one line: what was sent, what ran, what was lost, and what was
/// done about it.
#[derive(Clone, Default)]
pub(super) struct Timeline(Arc<Mutex<Course>>);

/// Of the invocation that was told of last.
#[derive(Default)]
struct Course {
    invocation: u64,
    connection: Option<ConnectionId>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Sent(AttemptKind),
    /// The attempt before failed.
    Lost(Delivery),
    /// It was answered by an HTTP status that is no answer.
    ErrorStatus,
    ListedAgain,
    Reconnected,
    Denied,
    Answered,
    Cancelled,
    Ended,
}

impl Timeline {
    /// The line. The ledger tells which of the requests ran; the call was the last of the row.
    pub(super) fn line(&self, record: &Record) -> String {
        let steps = mem::take(&mut *self.course()).steps;
        // What never left was read by nobody.
        let left = |place: usize| {
            matches!(steps[place], Step::Sent(_))
                && steps.get(place + 1) != Some(&Step::Lost(Delivery::Unsent))
        };
        let read = ran(record);
        let earlier = read.len().saturating_sub((0..steps.len()).filter(|place| left(*place)).count());
        let mut ran = read.into_iter().skip(earlier);
        let mut words = Vec::new();
        for (place, step) in steps.iter().enumerate() {
            words.push(step.text());
            if left(place) && ran.next() == Some(true) {
                words.push("it ran");
            }
        }
        words.join(" > ")
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Timeline {
    fn observe(&self, invocation: &InvocationInfo<'_>, happening: &Happening) {
        let mut course = self.course();
        if course.invocation != invocation.id {
            *course = Course { invocation: invocation.id, ..Course::default() };
        }
        let step = match *happening {
            Happening::Listed { connection, .. } => match course.connection.replace(connection) {
                None if connection == ConnectionId::FIRST => return,
                None => Step::Reconnected,
                Some(before) if before == connection => Step::ListedAgain,
                Some(_) => Step::Reconnected,
            },
            Happening::Attempting { kind, .. } => Step::Sent(kind),
            Happening::Failed { kind: ErrorKind::Cancelled, .. } => return,
            Happening::Failed { kind: ErrorKind::HttpStatus(_), .. } => Step::ErrorStatus,
            Happening::Failed { delivery, .. } => Step::Lost(delivery),
            Happening::Decided { decision: Decision::Deny(_), .. } => Step::Denied,
            Happening::Ended { outcome: None, .. } => Step::Answered,
            Happening::Ended { outcome: Some(Outcome::NotExecuted | Outcome::Unknown), reason, .. } => {
                match (reason.map(|reason| reason.code()), course.steps.last()) {
                    (_, Some(Step::Denied)) => return,
                    (Some("cancelled"), _) => Step::Cancelled,
                    _ => Step::Ended,
                }
            }
            _ => return,
        };
        course.steps.push(step);
    }
}

impl Step {
    fn text(self) -> &'static str {
        match self {
            Self::Sent(AttemptKind::First) => "sent",
            Self::Sent(AttemptKind::Resend) => "delivered for the first time",
            Self::Sent(AttemptKind::Replay) => "sent again",
            Self::Lost(Delivery::Unsent) => "LOST before it left",
            Self::Lost(Delivery::Refused) => "REFUSED",
            Self::Lost(Delivery::Unknown) => "LOST",
            Self::ErrorStatus => "an error status",
            Self::ListedAgain => "tools listed again",
            Self::Reconnected => "reconnected, tools listed again",
            Self::Denied => "not sent again",
            Self::Answered => "answered",
            Self::Cancelled => "cancelled",
            Self::Ended => "given up",
        }
    }
}

/// Of each call that was read, whether the tool ran.
fn ran(record: &Record) -> Vec<bool> {
    let mut ran = Vec::new();
    for event in record.events() {
        match (event, ran.last_mut()) {
            (Event::Received(_), _) => ran.push(false),
            (Event::Executed(_), Some(last)) => *last = true,
            _ => {}
        }
    }
    ran
}
