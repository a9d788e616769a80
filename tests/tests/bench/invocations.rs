//! An observer that keeps how invocations ended.

use std::sync::{Arc, Mutex};

use mcp_tool::{Happening, InvocationInfo, Observer, Outcome, Reason};

/// How the invocations of a client ended.
#[derive(Clone, Default)]
pub(crate) struct Endings(pub(crate) Arc<Mutex<Vec<Ending>>>);

type Ending = (Option<Outcome>, Option<Reason>);

impl Observer for Endings {
    fn observe(&self, _: &InvocationInfo<'_>, happening: &Happening) {
        if let Happening::Ended { outcome, reason, .. } = happening {
            self.0.lock().unwrap().push((*outcome, *reason));
        }
    }
}
