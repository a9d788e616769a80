//! mcp-tool: a host that knows nothing below it.

use mcp_tool::{Client, Outcome, StdioConnector, ToolCall, Trust};

/// A client of a server that is started as a child process, under full trust.
pub fn client(program: &str) -> Client {
    Client::builder("notes", StdioConnector::new(program)).trust(Trust::BOTH).build()
}

/// What became of a note.
#[derive(Debug, PartialEq)]
pub enum Saved {
    /// It is there.
    Yes,
    /// It is not; the code says why.
    No(&'static str),
    /// Somebody has to look; the code says why.
    Perhaps(&'static str),
}

/// Saves a note.
pub async fn save(client: &Client, note: &str) -> Saved {
    match client.call(ToolCall::new("put").with_argument("note", note)).await {
        Ok(answer) if answer.reply.is_error() => Saved::No("the server said no"),
        Ok(_) => Saved::Yes,
        Err(error) => match error.outcome() {
            Outcome::NotExecuted => Saved::No(error.reason().code()),
            Outcome::Unknown => Saved::Perhaps(error.reason().code()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcp_tool::{
        TransportError,
        mcp_discovery::{Catalog, Generation, MockDiscovery},
        mcp_transport::MockTransport,
        replay_policy::{Decision, MockReplayPolicy, Reason},
        rmcp::model::{CallToolResult, JsonObject, Tool},
    };

    use super::*;

    /// A discovery that gives this connection, once.
    fn over(connection: MockTransport) -> MockDiscovery {
        let put = Tool::new("put", "saves a note", JsonObject::new());
        let catalog = Arc::new(Catalog::new(Generation::FIRST, connection).with_tool(put));
        let mut discovery = MockDiscovery::new();
        discovery.expect_catalog().times(1).return_once(move || Ok(catalog));
        discovery
    }

    #[tokio::test]
    async fn a_note_that_was_answered_is_saved() {
        let mut connection = MockTransport::new();
        connection.expect_call_tool().times(1).returning(|_| Ok(CallToolResult::success(vec![]).into()));
        let client = Client::with_discovery("notes", over(connection)).build();
        assert_eq!(save(&client, "buy milk").await, Saved::Yes);
    }

    #[tokio::test]
    async fn a_note_whose_answer_was_lost_is_there_perhaps() {
        let mut connection = MockTransport::new();
        connection.expect_call_tool().times(1).returning(|_| Err(TransportError::lost()));
        let mut discovery = over(connection);
        discovery.expect_suspect().times(1).return_const(());
        discovery.expect_rebuild().never();
        let mut policy = MockReplayPolicy::new();
        policy.expect_decide().times(1).return_const(Decision::Deny(Reason::Custom("quiet_hours")));
        let client = Client::with_discovery("notes", discovery).policy(policy).build();
        assert_eq!(save(&client, "buy milk").await, Saved::Perhaps("quiet_hours"));
    }

    #[tokio::test]
    async fn a_note_for_a_server_that_does_not_exist_is_not_saved() {
        let client = client("/nonexistent/notes-server");
        assert_eq!(save(&client, "buy milk").await, Saved::No("unavailable"));
    }
}
