//! A source of tokens that never returns.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use mcp_tool::{Outcome, Reason, TokenSource, ToolCall};
use tokio::time::sleep;

use crate::{
    alone::alone,
    peer::Peer,
    stdio::{call, client},
};

/// Gives a token to whoever is there first, and then to nobody.
#[derive(Clone, Default)]
struct Tokens {
    given: Arc<AtomicU64>,
    enough: Arc<AtomicU64>,
    waiting: Arc<AtomicU64>,
}

struct Waits(Arc<AtomicU64>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self) -> Result<Option<String>, Box<dyn std::error::Error + Send + Sync>> {
        if self.given.fetch_add(1, SeqCst) < self.enough.load(SeqCst) {
            return Ok(Some("token".to_owned()));
        }
        self.waiting.fetch_add(1, SeqCst);
        let _waits = Waits(self.waiting.clone());
        std::future::pending().await
    }
}

#[test]
fn a_token_that_never_comes_is_waited_for_on_behalf_of_nobody() {
    alone("tokens::a_token_that_never_comes_is_waited_for_on_behalf_of_nobody", 24, async || {
        let tokens = Tokens::default();
        tokens.enough.store(u64::MAX, SeqCst);
        let client = client(Peer::start(Some).connector().with_tokens(tokens.clone()));
        assert!(call(&client).await.is_ok());
        tokens.enough.store(0, SeqCst);
        for _ in 0..10 {
            let brief = ToolCall::new("put").with_deadline(Duration::from_millis(50));
            let error = client.call(brief).await.unwrap_err();
            assert_eq!((error.outcome(), error.reason()), (Outcome::NotExecuted, Reason::Deadline));
        }
        // Listings may be asked for in the background, and have bounds of their own.
        let waiting = tokens.waiting.clone();
        tokio::time::timeout(Duration::from_secs(20), async {
            while waiting.load(SeqCst) > 1 {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("{} still wait", waiting.load(SeqCst)));
    });
}
