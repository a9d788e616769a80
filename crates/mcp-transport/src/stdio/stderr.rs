use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much of the end of standard error is kept.
const KEEP: usize = 64 * 1024;

/// The end of a server's standard error, kept for whoever asks. `Debug` shows none of it.
#[derive(Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<VecDeque<u8>>>);

impl StderrTail {
    /// Reads to the end, so that the server never blocks on its standard error.
    pub(super) async fn drain(self, mut stderr: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend(&chunk[..read]);
            let surplus = tail.len().saturating_sub(KEEP);
            tail.drain(..surplus);
        }
    }

    pub(super) fn text(&self) -> String {
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl fmt::Debug for StderrTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StderrTail")
    }
}
