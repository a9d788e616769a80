//! One life of the simulated server, from a connect to the end of that connection: what goes wrong in it.

use crate::{numbers::Numbers, tool::Definition};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Life {
    pub(crate) connect: Connect,
    pub(crate) era: Era,
    pub(crate) tools: [Definition; 2],
    pub(crate) listing: Option<ListingFault>,
    /// What becomes of the bytes towards the server.
    pub(crate) requests: Option<(usize, WriteFault)>,
    /// The most bytes that one write takes.
    pub(crate) write: usize,
    /// What becomes of the bytes from it.
    pub(crate) answers: Option<(usize, ReadFault)>,
    /// What is done with its first calls, instead of running them and answering.
    pub(crate) calls: Vec<Option<CallFault>>,
    /// What it writes unasked, so many milliseconds after it was connected.
    pub(crate) noise: Vec<(u64, Noise)>,
    /// It ends by itself, so many milliseconds after it was connected.
    pub(crate) dies: Option<u64>,
    /// How long each answer takes, in milliseconds.
    pub(crate) pace: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Connect {
    Works,
    /// The connector says no.
    Refused,
    /// The connector takes long and then says no.
    Slow,
    /// The stream ends before the handshake is answered.
    HandshakeCut,
    /// Something that is no handshake comes back.
    HandshakeNonsense,
    /// The handshake is answered with an error.
    HandshakeRejected,
    /// The handshake is never answered.
    HandshakeHangs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ListingFault {
    /// The first listing is never answered; others are.
    Hangs,
    /// No listing is ever answered.
    AlwaysHangs,
    /// The first is answered with an error.
    Rejected,
    /// The first is answered with something else.
    Nonsense,
    /// The server dies between the two pages.
    DiesOnPageTwo,
}

/// What happens when so many bytes were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum WriteFault {
    /// The next write fails. What comes back still comes.
    Break,
    /// The next write never ends.
    Stall,
    /// The next write waits for so many seconds.
    Pause,
    /// The rest is accepted and lost, and nothing tells.
    Vanish,
}

/// What happens when so many bytes were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ReadFault {
    End,
    Reset,
    /// Nothing more comes, and nothing tells.
    Stall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum CallFault {
    DiesBefore,
    ExecutesThenDies,
    /// Ends its connection, and executes later.
    ExecutesLate,
    /// Executes, writes half of the answer and dies.
    HalfAnswer,
    /// Executes, writes all of the answer but its newline and dies.
    NoNewline,
    AnswersThenDies,
    HangsBefore,
    HangsAfter,
    /// Answers after ten seconds.
    AnswersLate,
    /// Executes and closes its output; goes on reading and executing.
    ClosesOutput,
    /// Reads nothing any more.
    StopsReading,
    AnswersTwice,
    AnswersAsString,
    /// Answers with an id of no request.
    AnswersNobody,
    AnswersNonsense,
    AnswersError,
    AnswersIsError,
    /// Reports progress four times, a second apart, and answers.
    Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Noise {
    ListChanged,
    NotJson,
    NotUtf8,
    UnknownId,
    /// The answer to the first call of this life once more.
    AnsweredId,
    UnknownProgress,
    ErrorWithoutId,
    Ping,
}

pub(crate) const CONNECTS: [Connect; 6] = [
    Connect::Refused,
    Connect::Slow,
    Connect::HandshakeCut,
    Connect::HandshakeNonsense,
    Connect::HandshakeRejected,
    Connect::HandshakeHangs,
];
pub(crate) const LISTINGS: [ListingFault; 5] = [
    ListingFault::Hangs,
    ListingFault::AlwaysHangs,
    ListingFault::Rejected,
    ListingFault::Nonsense,
    ListingFault::DiesOnPageTwo,
];
pub(crate) const WRITES: [WriteFault; 4] =
    [WriteFault::Break, WriteFault::Stall, WriteFault::Pause, WriteFault::Vanish];
pub(crate) const READS: [ReadFault; 3] = [ReadFault::End, ReadFault::Reset, ReadFault::Stall];
pub(crate) const CALLS: [CallFault; 18] = [
    CallFault::DiesBefore,
    CallFault::ExecutesThenDies,
    CallFault::ExecutesLate,
    CallFault::HalfAnswer,
    CallFault::NoNewline,
    CallFault::AnswersThenDies,
    CallFault::HangsBefore,
    CallFault::HangsAfter,
    CallFault::AnswersLate,
    CallFault::ClosesOutput,
    CallFault::StopsReading,
    CallFault::AnswersTwice,
    CallFault::AnswersAsString,
    CallFault::AnswersNobody,
    CallFault::AnswersNonsense,
    CallFault::AnswersError,
    CallFault::AnswersIsError,
    CallFault::Progress,
];
pub(crate) const NOISES: [Noise; 8] = [
    Noise::ListChanged,
    Noise::NotJson,
    Noise::NotUtf8,
    Noise::UnknownId,
    Noise::AnsweredId,
    Noise::UnknownProgress,
    Noise::ErrorWithoutId,
    Noise::Ping,
];

impl Life {
    /// One without a fault.
    pub(crate) fn healthy(tools: [Definition; 2]) -> Self {
        Self {
            connect: Connect::Works,
            era: Era::Legacy,
            tools,
            listing: None,
            requests: None,
            write: usize::MAX,
            answers: None,
            calls: Vec::new(),
            noise: Vec::new(),
            dies: None,
            pace: 10,
        }
    }

    pub(crate) fn draw(numbers: &mut Numbers, tools: [Definition; 2]) -> Self {
        let mut life = Self::healthy(tools);
        life.pace = [10, 40, 200][numbers.below(3) as usize];
        if numbers.below(3) == 0 {
            life.era = Era::Modern;
        }
        if numbers.below(6) == 0 {
            life.connect = pick(numbers, &CONNECTS);
        }
        if numbers.below(7) == 0 {
            life.listing = Some(pick(numbers, &LISTINGS));
        }
        life.write = [1, 7, 100, usize::MAX, usize::MAX, usize::MAX][numbers.below(6) as usize];
        if numbers.below(4) == 0 {
            life.requests = Some((numbers.below(1_600) as usize, pick(numbers, &WRITES)));
        }
        if numbers.below(5) == 0 {
            life.answers = Some((numbers.below(1_600) as usize, pick(numbers, &READS)));
        }
        for _ in 0..numbers.below(5) {
            let fault = (numbers.below(4) > 0).then(|| pick(numbers, &CALLS));
            life.calls.push(fault);
        }
        for _ in 0..numbers.below(4) {
            life.noise.push((numbers.below(3_000), pick(numbers, &NOISES)));
        }
        if numbers.below(5) == 0 {
            life.dies = Some(numbers.below(3_000));
        }
        life
    }

    /// One that the first call does not outlive: it is cut short, or kills the server.
    pub(crate) fn draw_fatal(numbers: &mut Numbers, tools: [Definition; 2]) -> Self {
        let mut life = Self::healthy(tools);
        match numbers.below(4) {
            0 => {
                life.calls = vec![Some(pick(numbers, &[CallFault::DiesBefore, CallFault::ExecutesThenDies]))];
            }
            // Behind the handshake and the two pages, and before the end of any call.
            _ => life.requests = Some((400 + numbers.below(80) as usize, WriteFault::Break)),
        }
        life
    }

    /// One in which the first call waits for seconds, not a byte of it accepted.
    pub(crate) fn waiting(tools: [Definition; 2]) -> Self {
        // Behind the handshake and the two pages.
        Self { requests: Some((395, WriteFault::Pause)), ..Self::healthy(tools) }
    }
}

pub(crate) fn pick<T: Copy>(numbers: &mut Numbers, from: &[T]) -> T {
    from[numbers.below(from.len() as u64) as usize]
}
