//! An answer is final, whatever it says.

use mcp_tool::{
    CallReply, ToolCall, Trust,
    mcp_transport::{Step, TransportError},
    rmcp::model::{CallToolResult, ContentBlock, ErrorData},
};

use crate::servers::{Lives, idempotent, life};

#[tokio::test]
async fn an_answer_is_handed_on_with_one_attempt() {
    let server = Lives::of([life(None)]);
    let answer = server.client().build().call(ToolCall::new("put")).await.unwrap();
    assert!(matches!(answer.reply, CallReply::Result(_)));
    assert_eq!((answer.attempts, answer.replays, answer.unsent, answer.earlier_unknown), (1, 0, 0, false));
    assert_eq!((server.calls(), server.connects()), (vec![1], 1));
}

#[tokio::test]
async fn an_error_that_talks_of_a_lost_connection_is_never_replayed() {
    let wording = "connection closed: database connection lost, session not found (ECONNRESET)";
    let answers: [CallReply; 2] = [
        ErrorData::internal_error(wording, None).into(),
        CallToolResult::error(vec![ContentBlock::text(wording)]).into(),
    ];
    for reply in answers {
        let server = Lives::of([life(idempotent()).then(Step::Answer(reply)), life(idempotent())]);
        let answer = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap();
        assert!(answer.reply.is_error());
        assert_eq!((answer.attempts, server.calls(), server.connects()), (1, vec![1, 0], 1));
    }
}

#[tokio::test]
async fn an_error_that_is_neither_connection_nor_abort_is_handed_on() {
    for error in [
        TransportError::other("status 503"),
        TransportError::reply_too_large(),
        TransportError::invalid_reply("no result"),
        TransportError::idle_timeout(),
    ] {
        let code = error.kind().code();
        let server = Lives::of([life(idempotent()).then(Step::Fail(error)), life(idempotent())]);
        let error = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap_err();
        assert_eq!(error.outcome(), mcp_tool::Outcome::Unknown, "{code}");
        assert_eq!((error.reason().code(), error.attempts()), (code, 1));
        assert_eq!((server.calls(), server.connects()), (vec![1, 0], 1), "{code}");
    }
}

#[tokio::test]
async fn an_answer_after_an_attempt_in_doubt_says_so() {
    let server = Lives::of([life(idempotent()).lose(), life(idempotent())]);
    let answer = server.client().trust(Trust::BOTH).build().call(ToolCall::new("put")).await.unwrap();
    assert_eq!((answer.attempts, answer.replays, answer.earlier_unknown), (2, 1, true));
    assert_eq!(server.calls(), [1, 1]);
}
