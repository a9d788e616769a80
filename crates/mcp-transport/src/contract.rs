//! What the proofs of this project rely on, checked on a [`Transport`] of somebody's own.
//!
//! Whoever writes a transport writes a [`Bench`] for it, too: it connects the transport to a far end whose
//! behaviour comes from here. [`check`] then makes calls, has the far end die, stall and come back, and
//! compares what the transport said of each call with what the far end could have read.
//!
//! ```
//! use std::sync::Arc;
//! use mcp_transport::{ToolCall, ToolPage, Transport, TransportError, callable};
//! use mcp_transport::contract::{self, Bench, FarEnd, Unsupported};
//!
//! /// A function in this process: there is no connection that could fail.
//! struct InProcess;
//!
//! #[async_trait::async_trait]
//! impl Bench for InProcess {
//!     async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported> {
//!         let transport = callable(
//!             move |call: ToolCall| {
//!                 let far_end = far_end.clone();
//!                 async move {
//!                     if !far_end.may_take().await {
//!                         return Err(TransportError::closed());
//!                     }
//!                     // It waited, so it asks once more.
//!                     call.may_send()?;
//!                     let taken = far_end.received(call.name(), call.arguments().map(AsRef::as_ref));
//!                     taken.reply().await.ok_or_else(TransportError::lost)
//!                 }
//!             },
//!             |_cursor| async { Ok(ToolPage::default()) },
//!         );
//!         Ok(Arc::new(transport))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let report = contract::check(InProcess).await;
//! assert!(report.skipped().is_empty());
//! # }
//! ```
//!
//! # The clock
//!
//! Whatever must happen is given 30 s, and a call that is to run into its own bounds 20 ms; nothing is
//! measured. Where everything is in memory, tokio's paused clock makes both free. Over sockets and processes
//! the clock has to run: a paused one leaps over what the kernel still carries.
//!
//! # What it cannot show
//!
//! It looks from outside, at a number of schedules and not at all of them. A transport that passes keeps
//! the contract in the cases that are written here, and a claim of proof still needs its reason.

mod delivery;
mod ending;
mod far_end;
mod permission;
mod replies;
mod report;
mod stage;

use std::sync::Arc;

use async_trait::async_trait;

use self::stage::Stage;
pub use self::{
    far_end::{Behaviour, FarEnd, Taken},
    report::{Clause, Report, Violation},
};
use crate::Transport;

/// Makes connections to far ends that behave as they are told.
#[async_trait]
pub trait Bench: Send + Sync {
    /// A new connection, ready for calls, to a new far end that follows this one.
    ///
    /// The far end keeps `far_end` (or a clone, or a [`Taken`]) for as long as it can act, and no longer:
    /// that is how the suite knows that it has gone. It
    /// - waits for [`may_take`](FarEnd::may_take) before it reads a request after the handshake, and leaves
    ///   no room in between (see [`room`](Self::room));
    /// - tells each complete `tools/call` as [`received`](FarEnd::received), before it does anything
    ///   else with it, and sends what [`Taken::reply`] says. It may do so for one request after the
    ///   other, or for many at a time;
    /// - goes away as a crash does when [`ended`](FarEnd::ended) says so, with all that it was doing.
    ///
    /// # Errors
    ///
    /// [`Unsupported`] when the far end cannot behave like that. What needs it is skipped, and the report
    /// says so.
    async fn connect(&self, far_end: FarEnd) -> Result<Arc<dyn Transport>, Unsupported>;

    /// How many bytes can have left for a far end that takes nothing: what a pipe, a socket or a relay
    /// holds. Calls that must not fit are made larger than that. Default: 0, which is right for whatever
    /// moves requests whole; fill its queue instead.
    fn room(&self) -> usize {
        0
    }
}

/// The bench has no far end that behaves like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported;

/// Examines a transport, and panics with the list of violations if there is one.
///
/// # Panics
///
/// When the contract is violated.
pub async fn check(bench: impl Bench) -> Report {
    let report = examine(bench).await;
    assert!(report.violations().is_empty(), "{report}");
    report
}

/// Examines a transport and reports what it violates: each clause once, as it was seen first.
pub async fn examine(bench: impl Bench) -> Report {
    use Behaviour as Far;
    let mut exam = Examination { bench: &bench, report: Report::default() };
    exam.run(Far::Answers, delivery::one_request_each).await;
    exam.run(Far::Answers, permission::refused_before_the_send).await;
    exam.run(Far::Holds, permission::ended_in_flight).await;
    exam.run(Far::TakesNothing, delivery::past_its_deadline).await;
    exam.run(Far::TakesNothing, delivery::cancelled).await;
    exam.run(Far::TakesNothing, delivery::dropped).await;
    exam.run(Far::TakesNothing, delivery::dropped_behind_another).await;
    exam.run(Far::TakesNothing, permission::withdrawn_while_waiting).await;
    exam.run(Far::Dies, ending::dies_with_a_request).await;
    exam.run(Far::Holds, ending::ends_under_calls).await;
    exam.run(Far::TakesNothing, ending::ends_under_calls_that_wait).await;
    exam.run(Far::Holds, ending::closed).await;
    exam.run(Far::TakesNothing, ending::closed_under_calls_that_wait).await;
    exam.run(Far::Holds, ending::retired).await;
    exam.run(Far::AnswersNobodyFirst, replies::to_nobody).await;
    exam.run(Far::AnswersWithFailure, replies::that_say_no).await;
    exam.run(Far::AnswersWithError, replies::that_say_no).await;
    exam.report
}

struct Examination<'a> {
    bench: &'a dyn Bench,
    report: Report,
}

impl Examination<'_> {
    /// One check, on a connection of its own.
    async fn run(&mut self, behaviour: Behaviour, check: impl AsyncFnOnce(&mut Stage)) {
        match Stage::set(self.bench, behaviour).await {
            Ok(mut stage) => {
                check(&mut stage).await;
                self.report.add(stage.strike().await);
            }
            Err(Unsupported) => self.report.skip(behaviour),
        }
    }
}
