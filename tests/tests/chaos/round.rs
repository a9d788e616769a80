//! What is drawn for one round.

use std::time::Duration;

use mcp_tool::{ToolCall, Trust};
use mcp_tool_cli::fault_server::{Fault, Scenario, ToolSpec, When};
use serde_json::{Value, json};

use crate::numbers::Numbers;

/// Where nothing tells that the server is gone, so that calls last until then.
const STANDSTILL: Duration = Duration::from_millis(400);
/// Where calls are lost, and recovered.
const LOSS: Duration = Duration::from_secs(10);
/// For calls that must be answered.
pub(crate) const PATIENT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) seed: u64,
    pub(crate) calls: Vec<Call>,
    pub(crate) trust: Trust,
    pub(crate) harm: Harm,
    /// From the moment at which the calls are made.
    pub(crate) after: Duration,
    /// From then on, where it is taken back.
    pub(crate) lasts: Duration,
    /// How long the server takes for each answer, in milliseconds.
    pub(crate) pace: u64,
}

/// Each call has a tool of its own, by whose name the ledger knows it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) annotations: Option<Value>,
    /// Bytes of text among the arguments.
    pub(crate) text: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Harm {
    Pipe(PipeHarm),
    Socket(SocketHarm),
}

/// To a server that is a child of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PipeHarm {
    Kill,
    KillTwice,
    StopAndContinue,
    StopAndKill,
    /// It goes on living without its standard input.
    CloseInput,
    /// It goes on living without its standard output, and runs what it reads.
    CloseOutput,
    /// It stops reading, and the pipe is filled.
    FillThePipe,
}

/// To a server behind a relay.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SocketHarm {
    /// All connections are reset.
    Reset,
    /// Nothing comes through any more, in either direction, and nobody is told.
    HalfOpen,
    /// Requests come through, and no answers do.
    Deaf,
    Kill,
    StopAndContinue,
}

/// How many kinds of harm there are.
pub(crate) const HARMS: usize = PIPE.len() + SOCKET.len();
const PIPE: [PipeHarm; 7] = [
    PipeHarm::Kill,
    PipeHarm::KillTwice,
    PipeHarm::StopAndContinue,
    PipeHarm::StopAndKill,
    PipeHarm::CloseInput,
    PipeHarm::CloseOutput,
    PipeHarm::FillThePipe,
];
const SOCKET: [SocketHarm; 5] = [
    SocketHarm::Reset,
    SocketHarm::HalfOpen,
    SocketHarm::Deaf,
    SocketHarm::Kill,
    SocketHarm::StopAndContinue,
];

impl Round {
    pub(crate) fn draw(seed: u64) -> Self {
        // Neighbouring seeds would else be the same numbers, one apart.
        let mut numbers = Numbers(seed.wrapping_mul(0xd134_2543_de82_ef95));
        let harm = match numbers.below(4) {
            0 => Harm::Socket(SOCKET[numbers.below(SOCKET.len() as u64) as usize]),
            _ => Harm::Pipe(PIPE[numbers.below(PIPE.len() as u64) as usize]),
        };
        let calls = (0..1 + numbers.below(4)).map(|number| Call::draw(&mut numbers, number, harm));
        Self {
            seed,
            calls: calls.collect(),
            trust: if numbers.below(3) == 0 { Trust::NONE } else { Trust::BOTH },
            harm,
            after: Duration::from_micros(numbers.below(20_000)),
            lasts: Duration::from_millis(numbers.below(100)),
            pace: numbers.below(15),
        }
    }

    /// A server that takes its time for each answer.
    pub(crate) fn scenario(&self) -> Scenario {
        let tools = self.calls.iter().map(|call| match &call.annotations {
            Some(annotations) => ToolSpec::new(&call.tool).annotations(annotations.clone()),
            None => ToolSpec::new(&call.tool),
        });
        let tools = tools.fold(Scenario::new().tool(ToolSpec::new("afterwards")), Scenario::tool);
        let slow =
            |scenario: Scenario| scenario.on_every_call(Fault::AnswerLate { when: When::Millis(self.pace) });
        let fault = match self.harm {
            Harm::Pipe(PipeHarm::CloseInput) => Fault::CloseStdin,
            Harm::Pipe(PipeHarm::CloseOutput) => Fault::CloseStdout,
            Harm::Pipe(PipeHarm::FillThePipe) => Fault::StopReading,
            _ => return slow(tools),
        };
        // The first server does that on one of the calls.
        let call = 1 + (self.seed % self.calls.len() as u64) as u32;
        slow(tools.clone().on_call(call, fault)).from_start(2, slow(tools))
    }
}

impl Call {
    fn draw(numbers: &mut Numbers, number: u64, harm: Harm) -> Self {
        let annotations = match numbers.below(4) {
            0 => None,
            1 => Some(json!({"readOnlyHint": false})),
            _ => Some(json!({"idempotentHint": true})),
        };
        // The last is more than a pipe holds.
        let text = match harm {
            Harm::Pipe(PipeHarm::FillThePipe) => 100_000,
            _ => [0, 1_000, 100_000][numbers.below(3) as usize],
        };
        Self { tool: format!("put-{number}"), annotations, text }
    }

    pub(crate) fn to_call(&self, harm: Harm) -> ToolCall {
        let deadline = match harm {
            Harm::Pipe(PipeHarm::CloseInput | PipeHarm::FillThePipe | PipeHarm::StopAndContinue)
            | Harm::Socket(SocketHarm::HalfOpen | SocketHarm::Deaf | SocketHarm::StopAndContinue) => {
                STANDSTILL
            }
            Harm::Pipe(
                PipeHarm::Kill | PipeHarm::KillTwice | PipeHarm::StopAndKill | PipeHarm::CloseOutput,
            )
            | Harm::Socket(SocketHarm::Reset | SocketHarm::Kill) => LOSS,
        };
        ToolCall::new(self.tool.as_str()).with_argument("text", "x".repeat(self.text)).with_deadline(deadline)
    }

    /// Whether it may run more than once.
    pub(crate) fn may_be_repeated(&self, trust: Trust) -> bool {
        trust == Trust::BOTH && self.annotations == Some(json!({"idempotentHint": true}))
    }
}
