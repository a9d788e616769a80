use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// How long the output of a dead child may stay quiet before it counts as ended.
const QUIET: Duration = Duration::from_millis(50);
/// How long it is read at all.
const AT_MOST: Duration = Duration::from_secs(1);

/// When the output of a dead child has ended, though some other process may still hold it open, and may
/// even write to it.
pub(super) struct LastWords {
    /// Kept, since whoever waits anew has to put itself on the token's list each time.
    child_gone: Pin<Box<WaitForCancellationFutureOwned>>,
    gone: Option<Gone>,
}

#[derive(Clone, Copy)]
struct Gone {
    since: Instant,
    heard: Instant,
}

impl LastWords {
    pub(super) fn of(child_gone: CancellationToken) -> Self {
        Self { child_gone: Box::pin(child_gone.cancelled_owned()), gone: None }
    }

    /// Something was read.
    pub(super) fn heard(&mut self) {
        if let Some(gone) = &mut self.gone {
            gone.heard = Instant::now();
        }
    }

    /// Whether reading on makes no sense, even if there is more.
    pub(super) fn are_overdue(&self) -> bool {
        self.gone.is_some_and(|gone| Instant::now() >= gone.since + AT_MOST)
    }

    /// Waits until the child is dead and its output has been quiet. Safe to cancel: the time goes on.
    pub(super) async fn spoken(&mut self) {
        self.child_gone.as_mut().await;
        let now = Instant::now();
        let gone = *self.gone.get_or_insert(Gone { since: now, heard: now });
        sleep_until((gone.heard + QUIET).min(gone.since + AT_MOST)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_dead_child_is_listened_to_until_it_has_been_quiet_but_not_for_ever() {
        let child_gone = CancellationToken::new();
        let mut last_words = LastWords::of(child_gone.clone());
        let minute = Duration::from_secs(60);
        assert!(tokio::time::timeout(minute, last_words.spoken()).await.is_err(), "the child lives");
        child_gone.cancel();

        let died = Instant::now();
        // Whoever waits may be interrupted: what counts is when something was read.
        for _ in 0..10 {
            assert!(tokio::time::timeout(QUIET / 2, last_words.spoken()).await.is_err());
            last_words.heard();
        }
        assert!(!last_words.are_overdue());
        assert!(tokio::time::timeout(QUIET / 2, last_words.spoken()).await.is_err());
        last_words.spoken().await;
        assert_eq!(died.elapsed(), QUIET / 2 * 10 + QUIET);

        while !last_words.are_overdue() {
            tokio::time::sleep(QUIET / 2).await;
            last_words.heard();
        }
        assert_eq!(died.elapsed(), AT_MOST);
        last_words.spoken().await;
        assert_eq!(died.elapsed(), AT_MOST);
    }
}
