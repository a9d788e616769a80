use std::fmt;

use super::Behaviour;

/// What an examination found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    violations: Vec<Violation>,
    skipped: Vec<Behaviour>,
}

/// One clause of the contract that was not kept, and what was seen. `Display` is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    clause: Clause,
    behaviour: Behaviour,
    seen: String,
}

/// A clause of the contract between a transport and those who use it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clause {
    /// Nothing is sent before the call's future is first polled.
    SentBeforePoll,
    /// One call is at most one request.
    SentTwice,
    /// Nothing is sent after the call has returned or was dropped.
    SentAfterGivenUp,
    /// What is claimed to be unsent can never have been received.
    FalselyUnsent,
    /// The call's guard is asked before the first byte, and its no is kept.
    GuardIgnored,
    /// It is asked when the call's turn comes, and not before it waits.
    GuardStale,
    /// A cancelled call ends, and is not sent if it was not before.
    CancellationIgnored,
    /// A call ends by its deadline, and is not sent after it.
    DeadlineIgnored,
    /// A call without an answer and without progress ends by its idle timeout.
    IdleTimeoutIgnored,
    /// The tool's name and the arguments arrive as they were given.
    RequestAltered,
    /// A call that nothing stands in the way of is sent and answered.
    NotAnswered,
    /// An answer is handed on to its own call, unchanged.
    AnswerAltered,
    /// `isError` and a JSON-RPC error are answers like any other.
    ErrorNotHandedOn,
    /// An answer to nobody completes nothing and is no fault of the connection.
    StrayAnswerTaken,
    /// No call and no `close` outlives the connection.
    LeftHanging,
    /// The end of the connection is of the class `Connection`.
    NotALoss,
    /// A connection that is closed or retired takes no call: class `Connection`, unsent.
    TakenAfterEnd,
    /// A connection that is closed or retired says so, and for ever.
    NotClosed,
    /// A fence is claimed only when the far end can no longer act.
    FalseFence,
}

impl Report {
    /// The clauses that were not kept, each once, in the order in which they were found.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The behaviours that the bench does not support: what needs them was not looked at.
    pub fn skipped(&self) -> &[Behaviour] {
        &self.skipped
    }

    pub(super) fn add(&mut self, found: Vec<Violation>) {
        for violation in found {
            let is_known = |clause| self.violations.iter().any(|known| known.clause == clause);
            // A guard that is never kept is not kept late either.
            let follows = violation.clause == Clause::GuardStale && is_known(Clause::GuardIgnored);
            if !follows && !is_known(violation.clause) {
                self.violations.push(violation);
            }
        }
    }

    pub(super) fn skip(&mut self, behaviour: Behaviour) {
        if !self.skipped.contains(&behaviour) {
            self.skipped.push(behaviour);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the contract's clauses violated", self.violations.len())?;
        for violation in &self.violations {
            write!(f, "\n- {violation}")?;
        }
        for behaviour in &self.skipped {
            write!(f, "\n- skipped: a far end that {}", behaviour.text())?;
        }
        Ok(())
    }
}

impl Violation {
    pub(super) fn new(clause: Clause, behaviour: Behaviour, seen: impl Into<String>) -> Self {
        Self { clause, behaviour, seen: seen.into() }
    }

    /// What was not kept.
    pub fn clause(&self) -> Clause {
        self.clause
    }

    /// The clause's stable code.
    pub fn code(&self) -> &'static str {
        self.clause.code()
    }

    /// How the far end behaved when it was seen.
    pub fn behaviour(&self) -> Behaviour {
        self.behaviour
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, far, seen, why) = (self.code(), self.behaviour.text(), &self.seen, self.clause.why());
        write!(f, "{code}: with a far end that {far}, {seen}; {why}")
    }
}

impl Behaviour {
    fn text(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::AnswersWithFailure => "answers with isError",
            Self::AnswersWithError => "answers with an error",
            Self::AnswersNobodyFirst => "answers to nobody first",
            Self::Holds => "keeps its answers back",
            Self::TakesNothing => "takes nothing until it is released",
            Self::Dies => "dies with a request",
        }
    }
}

impl Clause {
    /// A stable word for it.
    pub fn code(self) -> &'static str {
        match self {
            Self::SentBeforePoll => "sent_before_poll",
            Self::SentTwice => "sent_twice",
            Self::SentAfterGivenUp => "sent_after_given_up",
            Self::FalselyUnsent => "falsely_unsent",
            Self::GuardIgnored => "guard_ignored",
            Self::GuardStale => "guard_stale",
            Self::CancellationIgnored => "cancellation_ignored",
            Self::DeadlineIgnored => "deadline_ignored",
            Self::IdleTimeoutIgnored => "idle_timeout_ignored",
            Self::RequestAltered => "request_altered",
            Self::NotAnswered => "not_answered",
            Self::AnswerAltered => "answer_altered",
            Self::ErrorNotHandedOn => "error_not_handed_on",
            Self::StrayAnswerTaken => "stray_answer_taken",
            Self::LeftHanging => "left_hanging",
            Self::NotALoss => "not_a_loss",
            Self::TakenAfterEnd => "taken_after_end",
            Self::NotClosed => "not_closed",
            Self::FalseFence => "false_fence",
        }
    }

    /// Why it matters.
    fn why(self) -> &'static str {
        match self {
            Self::SentBeforePoll => "a caller that drops the call unpolled believes that nothing ran",
            Self::SentTwice => "a write runs twice",
            Self::SentAfterGivenUp => "the tool runs when nobody waits for it, perhaps after another try",
            Self::FalselyUnsent => "the call is made again, and a write runs twice",
            Self::GuardIgnored => "a call goes out without a permission",
            Self::GuardStale => "a call that waited goes out on a permission that is gone",
            Self::CancellationIgnored => "what the user stopped goes on",
            Self::DeadlineIgnored => "a call outlives the bound that its caller relies on",
            Self::IdleTimeoutIgnored => "a call waits for a server that no longer speaks",
            Self::RequestAltered => "the tool runs with what nobody approved",
            Self::NotAnswered => "the other findings say little until this works",
            Self::AnswerAltered => "an answer is final, and its caller acts on it",
            Self::ErrorNotHandedOn => "an answer that is taken for a loss is followed by a second attempt",
            Self::StrayAnswerTaken => "a late answer ends a healthy connection or completes another call",
            Self::LeftHanging => "the caller learns of the loss only when its patience is over",
            Self::NotALoss => "nobody reconnects, and no policy is asked whether the call may be made again",
            Self::TakenAfterEnd => "a call is lost or runs on a connection that another has superseded",
            Self::NotClosed => "the next call goes to a connection that has ended",
            Self::FalseFence => "the call is made again while its first run may still be going on",
        }
    }
}
