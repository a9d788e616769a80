use std::{fmt, ops::Deref};

use rmcp::model::ProgressNotificationParam;

/// What a server tells of how far a call has got, and which attempt of the call it speaks of.
///
/// A replay begins from nothing, so the progress of two attempts is never one series: what comes late from
/// a connection that was given up keeps the number of the attempt that was made over it. The reported
/// fields are at hand through `Deref`. `Debug` prints no content.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// The attempt, counted from 1: requests that may have left. A replay's is 2 or more.
    pub attempt: u32,
    /// What the server told.
    pub notification: &'a ProgressNotificationParam,
}

impl<'a> Progress<'a> {
    /// Progress of this attempt.
    pub fn new(attempt: u32, notification: &'a ProgressNotificationParam) -> Self {
        Self { attempt, notification }
    }
}

impl Deref for Progress<'_> {
    type Target = ProgressNotificationParam;

    fn deref(&self) -> &ProgressNotificationParam {
        self.notification
    }
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("attempt", &self.attempt).finish_non_exhaustive()
    }
}
