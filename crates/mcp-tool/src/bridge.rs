//! Translates between the words of the layers. The matches are exhaustive on purpose: when a layer grows
//! a word, the compiler points here.

use mcp_discovery::{
    Catalog, CatalogTool, ConnectionId, DeclaredHints, DiscoveryError, DiscoveryErrorKind, Hint,
};
use mcp_transport::{Delivery as Sent, ErrorClass, Fence as Closed, ServerIdentity, TransportError};
use replay_policy::{Definition, Delivery, Fence, HintForm, Hints};

use crate::{
    Reason,
    machine::{Failure, Listed, ListedTool, Server},
};

/// What the transport says of a failed attempt, in the policy's words.
pub(crate) fn failure(error: &TransportError, class: ErrorClass) -> Failure {
    Failure { class, delivery: delivery(error.delivery()), kind: error.kind() }
}

fn delivery(delivery: Sent) -> Delivery {
    match delivery {
        Sent::Unsent => Delivery::Unsent,
        Sent::Refused => Delivery::Refused,
        Sent::Unknown => Delivery::Unknown,
    }
}

/// What a catalog says of the server that the invocation began with and of the tool it was made for.
///
/// `lost` is the connection of the attempt that failed. What is known of another one, between that and
/// this, says nothing about the attempt.
pub(crate) fn listed(
    catalog: &Catalog,
    began_with: &ServerIdentity,
    name: &str,
    held: Option<&CatalogTool>,
    lost: Option<ConnectionId>,
) -> Listed {
    let fenced = lost.is_some_and(|lost| lost.next() == catalog.connection());
    let definition = |tool: &CatalogTool| match (held, lost) {
        (None, _) if tool.is_ambiguous() => Definition::Ambiguous,
        (None, _) => Definition::Same,
        (Some(held), None) => seen(held, tool),
        (Some(held), Some(_)) => relisted(held, tool),
    };
    Listed {
        server: if catalog.identity() == began_with { Server::Same } else { Server::Changed },
        tool: catalog
            .tool(name)
            .map(|tool| ListedTool { hints: policy_hints(tool.hints()), definition: definition(tool) }),
        fence: catalog.predecessor_fence().filter(|_| fenced).map_or(Fence::None, fence),
    }
}

/// Why there is no listing.
pub(crate) fn unavailable(error: &DiscoveryError) -> Reason {
    match error.kind() {
        DiscoveryErrorKind::IdentityChanged => Reason::ServerChanged,
        _ => Reason::Unavailable,
    }
}

/// The hints of a listed tool as a policy takes them: a hint of the wrong type counts as absent and is
/// remembered. None where the tool has no annotations.
pub fn policy_hints(declared: Option<DeclaredHints>) -> Option<Hints> {
    let value = |hint| match hint {
        Hint::Declared(value) => Some(value),
        Hint::Absent | Hint::Malformed => None,
    };
    declared.map(|declared| Hints {
        read_only: value(declared.read_only),
        destructive: value(declared.destructive),
        idempotent: value(declared.idempotent),
        form: if declared.is_malformed() { HintForm::Malformed } else { HintForm::WellFormed },
    })
}

/// Before the first attempt: whether the server lists the very definition that the caller saw.
fn seen(held: &CatalogTool, listed: &CatalogTool) -> Definition {
    match compared(held, listed) {
        // One definition that became two, or the other way round, is not the one that was seen.
        Definition::Same if held.is_ambiguous() != listed.is_ambiguous() => Definition::Changed,
        Definition::Same if listed.is_ambiguous() => Definition::Ambiguous,
        compared => compared,
    }
}

/// Before a further attempt: a name that stood for two definitions, then or now, says nothing.
fn relisted(held: &CatalogTool, listed: &CatalogTool) -> Definition {
    if held.is_ambiguous() || listed.is_ambiguous() { Definition::Ambiguous } else { compared(held, listed) }
}

fn compared(held: &CatalogTool, listed: &CatalogTool) -> Definition {
    if held.digest() == listed.digest() {
        Definition::Same
    } else if held.schema_digest() == listed.schema_digest() {
        Definition::Changed
    } else {
        Definition::SchemaChanged
    }
}

fn fence(fence: Closed) -> Fence {
    match fence {
        Closed::None => Fence::None,
        Closed::GroupGone => Fence::GroupGone,
    }
}
