//! As mcp-tool's bridge translates and compares; its own functions need connections and catalogs.

use mcp_tool::{
    machine::{AttemptKind, Listed, ListedTool, Server},
    mcp_transport::{self, TransportError},
    replay_policy::{Definition, Delivery, Fence, Hints},
};

use crate::{call::Run, fault::Fault, scenario::Content, system::System, world::Catalog};

impl System {
    /// What a catalog says of the server and the tool.
    pub(crate) fn listed(
        &self,
        catalog: &Catalog,
        began_with: u8,
        run: &Run,
        hints: impl Fn(Content) -> Option<Hints>,
    ) -> Listed {
        let lost = run.catalog;
        let fenced = lost.is_some_and(|lost| lost.connection.next() == catalog.connection);
        let same_server = catalog.identity == began_with || self.has(Fault::IgnoresIdentity);
        let shown = match lost {
            Some(lost) if self.has(Fault::CarriesHintsOver) => lost.content,
            _ => catalog.content,
        };
        let tool = ListedTool {
            hints: hints(shown),
            definition: if self.has(Fault::IgnoresDefinitions) {
                Definition::Same
            } else {
                compared(run.held, catalog.content, lost.is_some())
            },
        };
        Listed {
            server: if same_server { Server::Same } else { Server::Changed },
            tool: (catalog.content != Content::Gone).then_some(tool),
            fence: match catalog.predecessor_fence.filter(|_| fenced) {
                Some(mcp_transport::Fence::GroupGone) => Fence::GroupGone,
                Some(mcp_transport::Fence::None) | None => Fence::None,
            },
        }
    }

    /// The delivery of a failed attempt in the policy's words.
    pub(crate) fn delivery(&self, error: &TransportError) -> Delivery {
        match error.delivery() {
            mcp_transport::Delivery::Unsent => Delivery::Unsent,
            mcp_transport::Delivery::Refused if self.has(Fault::TakesARefusalForProof) => Delivery::Unsent,
            mcp_transport::Delivery::Unknown if self.has(Fault::ClaimsUnsent) => Delivery::Unsent,
            mcp_transport::Delivery::Refused => Delivery::Refused,
            mcp_transport::Delivery::Unknown => Delivery::Unknown,
        }
    }
}

/// A name without a handle stands for what is listed first.
fn compared(held: Option<Content>, now: Content, again: bool) -> Definition {
    let doubled = (held == Some(Content::Doubled), now == Content::Doubled);
    match held {
        _ if again && (doubled.0 || doubled.1) => Definition::Ambiguous,
        None if doubled.1 => Definition::Ambiguous,
        Some(held) if held != now && (held == Content::Reshaped || now == Content::Reshaped) => {
            Definition::SchemaChanged
        }
        Some(held) if held != now => Definition::Changed,
        Some(_) if doubled.1 => Definition::Ambiguous,
        None | Some(_) => Definition::Same,
    }
}

/// The same, said differently: what may an attempt be made with, when the call was made for `held`?
pub(crate) fn may_be_called(kind: AttemptKind, held: Content, now: Content) -> bool {
    match kind {
        AttemptKind::First => held == now,
        AttemptKind::Resend => held == now && now != Content::Doubled,
        AttemptKind::Replay => {
            let schema = |content| content == Content::Reshaped;
            schema(held) == schema(now) && held != Content::Doubled && now != Content::Doubled
        }
    }
}
