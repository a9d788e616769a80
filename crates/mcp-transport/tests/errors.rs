//! What an error says, and what it never shows.

use std::{error::Error, time::Duration};

use mcp_transport::{
    CallReply, Delivery, ErrorClass, Guard, ToolCall, ToolPage, TransportError,
    rmcp::model::{CallToolResult, ContentBlock, ErrorData},
};

use crate::told;

const CANARY: &str = "canary: postgres://user:secret@host/db";

/// Every constructor, with what it says.
fn all() -> Vec<(TransportError, ErrorClass, Delivery)> {
    use {Delivery::*, ErrorClass::*};
    vec![
        (TransportError::connection(CANARY), Connection, Unknown),
        (TransportError::lost().caused_by(CANARY), Connection, Unknown),
        (TransportError::closed().caused_by(CANARY), Connection, Unsent),
        (TransportError::connect(CANARY), Connection, Unsent),
        (TransportError::command_not_found(CANARY), Connection, Unsent),
        (TransportError::tls().caused_by(CANARY), Connection, Unsent),
        (TransportError::connect_timeout().caused_by(CANARY), Connection, Unsent),
        (TransportError::handshake(CANARY), Other, Unsent),
        (TransportError::cancelled().caused_by(CANARY), Abort, Unknown),
        (TransportError::deadline().caused_by(CANARY), Other, Unknown),
        (TransportError::idle_timeout().caused_by(CANARY), Other, Unknown),
        (TransportError::reply_too_large().caused_by(CANARY), Other, Unknown),
        (TransportError::invalid_reply(CANARY), Other, Unknown),
        (TransportError::rejected(-32_601).caused_by(CANARY), Other, Unknown),
        (TransportError::withdrawn().caused_by(CANARY), Other, Unsent),
        (TransportError::unsupported().caused_by(CANARY), Other, Unsent),
        (TransportError::other(CANARY), Other, Unknown),
    ]
}

#[test]
fn every_constructor_says_what_it_proves_and_shows_nothing_of_its_cause() {
    let mut codes = Vec::new();
    for (error, class, delivery) in all() {
        assert_eq!((error.class(), error.delivery()), (class, delivery), "{error}");
        for text in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
            assert!(!text.contains("canary") && !text.contains("secret"), "{text}");
        }
        assert!(error.source().is_none(), "reporters print whole chains");
        assert_eq!(error.cause().unwrap().to_string(), CANARY);
        let text = error.to_string();
        assert!(!text.starts_with(char::is_uppercase) && !text.ends_with('.'), "{text}");
        codes.push(error.kind().code());
    }
    let count = codes.len();
    codes.sort_unstable();
    codes.dedup();
    // `connection` and `lost` are of one kind.
    assert_eq!(codes.len(), count - 1, "each kind has a code of its own");
    assert!(codes.iter().all(|code| code.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())));
    assert_eq!(
        TransportError::rejected(-32_601).to_string(),
        "the server answered with an error (code -32601)"
    );
}

#[test]
fn proof_is_a_named_claim_that_changes_nothing_else() {
    let error = TransportError::lost();
    assert_eq!(
        told(&error.clone().proven_unsent()),
        (ErrorClass::Connection, "connection_lost", Delivery::Unsent)
    );
    assert_eq!(error.clone().refused().delivery(), Delivery::Refused);
    assert_eq!(error.proven_unsent().in_doubt().delivery(), Delivery::Unknown);
    assert!(Delivery::Unsent < Delivery::Refused && Delivery::Refused < Delivery::Unknown);
    assert_eq!(Delivery::default(), Delivery::Unknown);
}

#[test]
fn errors_calls_and_replies_can_be_shared_and_show_no_content() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<TransportError>();
    is_shared::<ToolCall>();
    is_shared::<CallReply>();
    assert!(size_of::<TransportError>() <= 32);

    let call = ToolCall::new("put").with_argument("key", CANARY);
    let result = CallToolResult::success(vec![ContentBlock::text(CANARY)]);
    let error = CallReply::from(ErrorData::internal_error(CANARY, None));
    let page = ToolPage::default().with_next(CANARY);
    let guard = Guard::new(|| Ok(()));
    for (text, shown) in [
        (format!("{call:?}"), "put"),
        (format!("{:?}", CallReply::from(result)), "is_error: Some(false)"),
        (format!("{error:?}"), "-32603"),
        (format!("{page:?}"), "bytes"),
        (format!("{guard:?}"), "Guard"),
        (format!("{:?}", TransportError::rejected(-32601).caused_by(CANARY)), "Rejected(-32601)"),
    ] {
        assert!(text.contains(shown) && !text.contains("canary"), "{text}");
    }
}

#[test]
fn an_error_says_for_how_long_the_server_is_to_be_left_alone() {
    let after = |pause| TransportError::http_status(429).with_retry_after(pause).retry_after();
    assert_eq!(TransportError::http_status(429).retry_after(), None);
    let (milli, minute) = (Duration::from_millis(1), Duration::from_secs(60));
    for (pause, told) in [
        (Duration::ZERO, None),
        (Duration::from_nanos(1), Some(milli)),
        (milli, Some(milli)),
        (10 * minute, Some(10 * minute)),
        (10 * minute + milli, Some(10 * minute)),
        (Duration::MAX, Some(10 * minute)),
    ] {
        assert_eq!(after(pause), told, "{pause:?}");
    }
    let error = TransportError::http_status(429).with_retry_after(minute);
    assert_eq!((error.class(), error.delivery()), (ErrorClass::Other, Delivery::Unknown));
}
