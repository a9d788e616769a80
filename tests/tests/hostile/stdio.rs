//! Servers as child processes.

use std::time::{Duration, Instant};

use mcp_tool::{
    Answer, Client, Outcome, Reason, StdioConnector, ToolCall, ToolError, Trust,
    mcp_transport::{Connector, ErrorKind, rmcp},
};
use rmcp::{
    ClientHandler, ErrorData,
    model::{ElicitRequestParams, ElicitResult, ElicitationAction},
    service::{RequestContext, RoleClient},
};
use tokio::time::sleep;

use crate::alone::alone;

/// What a call may take at most: long enough for a flood to show.
const DEADLINE: Duration = Duration::from_secs(3);

pub(crate) fn server(what: &str) -> StdioConnector {
    StdioConnector::new(env!("CARGO_BIN_EXE_hostile-server")).arg(what).with_grace(Duration::from_millis(100))
}

/// A client that would replay whatever it may.
pub(crate) fn client(connector: impl Connector + 'static) -> Client {
    Client::builder("hostile", connector).trust(Trust::BOTH).build()
}

/// One call, which ends by its deadline whatever comes.
pub(crate) async fn call(client: &Client) -> Result<Answer, ToolError> {
    let before = Instant::now();
    let outcome = client.call(ToolCall::new("put").with_deadline(DEADLINE)).await;
    // Generous: the machine may be busy. A call that hangs takes for ever.
    assert!(before.elapsed() < DEADLINE + Duration::from_secs(80), "{:?}", before.elapsed());
    outcome
}

/// A call that is never answered ends by its deadline, in doubt.
pub(crate) async fn is_never_answered(client: &Client) {
    let error = call(client).await.unwrap_err();
    assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Deadline));
}

macro_rules! floods {
    ($($name:ident, $mebibytes:expr;)*) => {$(
        #[test]
        fn $name() {
            alone(concat!("stdio::", stringify!($name)), $mebibytes, async || {
                is_never_answered(&client(server(stringify!($name)))).await;
            });
        }
    )*};
}

// Each test is named after what comes without end while its call waits.
floods! {
    pings, 3;
    answers_being_read, 3;
    unreadable_requests, 3;
    questions, 3;
    samplings, 3;
    large_questions, 24;
    notifications, 8;
    list_changed, 8;
    progress_of_nobody, 8;
    banners, 8;
    empty_lines, 8;
    no_newline, 32;
    stderr, 8;
    byte_by_byte, 8;
}

#[test]
fn answers_to_nobody_are_no_answer() {
    alone("stdio::answers_to_nobody_are_no_answer", 24, async || {
        for what in ["answers_to_nobody", "answers_with_odd_ids"] {
            let error = call(&client(server(what))).await.unwrap_err();
            // Only an id that was never used may have been meant for this call.
            let wrong = Reason::Transport(ErrorKind::InvalidReply);
            assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, wrong), "{what}");
        }
    });
}

#[test]
fn an_answer_that_comes_again_and_again_answers_once() {
    alone("stdio::an_answer_that_comes_again_and_again_answers_once", 24, async || {
        let client = client(server("answers_again_and_again"));
        assert!(call(&client).await.is_ok());
        // The server no longer reads, and its output is a flood.
        let error = call(&client).await.unwrap_err();
        assert_eq!(error.reason(), Reason::Deadline);
    });
}

#[test]
fn an_answer_without_end_is_too_large() {
    alone("stdio::an_answer_without_end_is_too_large", 64, async || {
        // Whose answer it is can be told only when its line ends.
        is_never_answered(&client(server("an_answer_without_end"))).await;
    });
}

#[test]
fn progress_of_nobody_keeps_no_call_alive() {
    alone("stdio::progress_of_nobody_keeps_no_call_alive", 24, async || {
        let idle = ToolCall::new("put").with_idle_timeout(Duration::from_secs(2));
        let idle = idle.with_deadline(Duration::from_secs(15));
        let error = client(server("progress_of_nobody")).call(idle).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::IdleTimeout));
    });
}

/// Asks its user, who has gone for lunch, and does not look whether the server still wants to know.
#[derive(Clone)]
struct AtLunch;

impl ClientHandler for AtLunch {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        sleep(Duration::from_secs(3_600)).await;
        Ok(ElicitResult::new(ElicitationAction::Cancel))
    }
}

#[test]
fn questions_to_a_user_who_does_not_answer_do_not_pile_up() {
    alone("stdio::questions_to_a_user_who_does_not_answer_do_not_pile_up", 4, async || {
        for what in ["questions", "questions_taken_back"] {
            is_never_answered(&client(server(what).with_handler(AtLunch))).await;
        }
    });
}

#[test]
fn long_questions_to_a_user_who_does_not_answer_cost_no_more_than_one_line() {
    alone("stdio::long_questions_to_a_user_who_does_not_answer_cost_no_more_than_one_line", 32, async || {
        let client = client(server("large_questions").with_handler(AtLunch));
        let error =
            client.call(ToolCall::new("put").with_deadline(Duration::from_secs(8))).await.unwrap_err();
        assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, Reason::Deadline));
    });
}

#[test]
fn a_handshake_that_is_a_flood_ends_in_time() {
    alone("stdio::a_handshake_that_is_a_flood_ends_in_time", 64, async || {
        for what in ["handshake_of_pings", "handshake_without_newline"] {
            let connector = server(what).with_connect_timeout(Duration::from_secs(2));
            assert_eq!(connector.start().await.unwrap_err().kind(), ErrorKind::ConnectTimeout, "{what}");
        }
    });
}

#[test]
fn what_is_no_server_but_an_echo_is_told_at_once() {
    alone("stdio::what_is_no_server_but_an_echo_is_told_at_once", 24, async || {
        let before = Instant::now();
        let error = StdioConnector::new("cat").start().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Handshake);
        assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    });
}

#[test]
fn nesting_without_end_overflows_no_stack() {
    alone("stdio::nesting_without_end_overflows_no_stack", 24, async || {
        for what in ["deep_answer", "deep_error"] {
            let error = call(&client(server(what))).await.unwrap_err();
            let unreadable = Reason::Transport(ErrorKind::InvalidReply);
            assert_eq!((error.outcome(), error.reason()), (Outcome::Unknown, unreadable), "{what}");
        }
        assert!(call(&client(server("deep_everything"))).await.is_ok());
    });
}

#[test]
fn small_values_by_the_million_cost_no_more_than_a_line_can_hold() {
    alone("stdio::small_values_by_the_million_cost_no_more_than_a_line_can_hold", 768, async || {
        // Reading them takes its time.
        let patient = ToolCall::new("put").with_deadline(Duration::from_secs(60));
        assert!(client(server("bracket_answer")).call(patient).await.is_ok());
    });
}

#[test]
fn small_values_by_the_million_that_answer_nobody_are_not_read() {
    alone("stdio::small_values_by_the_million_that_answer_nobody_are_not_read", 64, async || {
        let patient = ToolCall::new("put").with_deadline(Duration::from_secs(60));
        assert!(client(server("bracket_everything")).call(patient).await.is_ok());
    });
}
