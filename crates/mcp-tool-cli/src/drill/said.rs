/// What a client said of its call, by its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// 0: there is an answer.
    Answered,
    /// 1: there is an answer, and it is an error.
    ErrorAnswer,
    /// 3: not executed, safe to run again.
    NotExecuted,
    /// 4: unknown, it may have run.
    Unknown,
    /// Anything else: an error, and nothing is claimed of the call.
    Error,
    /// Nothing within the time it had.
    Hung,
}

impl Said {
    /// What an exit code says; none for a client that a signal ended.
    pub fn of_exit_code(code: Option<i32>) -> Self {
        match code {
            Some(0) => Self::Answered,
            Some(1) => Self::ErrorAnswer,
            Some(3) => Self::NotExecuted,
            Some(4) => Self::Unknown,
            _ => Self::Error,
        }
    }

    /// Its stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::ErrorAnswer => "error_answer",
            Self::NotExecuted => "not_executed",
            Self::Unknown => "unknown",
            Self::Error => "error",
            Self::Hung => "hung",
        }
    }

    /// For a person.
    pub fn text(self) -> &'static str {
        match self {
            Self::Answered => "an answer",
            Self::ErrorAnswer | Self::Error => "an error",
            Self::NotExecuted => "not executed",
            Self::Unknown => "unknown",
            Self::Hung => "nothing",
        }
    }
}
