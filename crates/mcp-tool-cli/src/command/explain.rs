//! `mcp-tool explain`.

mod codes;
mod hints;
mod path;

use clap::{Args, ValueEnum};
use mcp_tool::{
    Trust,
    replay_policy::{Decision, Definition, Delivery, Fence},
};
use serde_json::{Value, json};

use self::{
    hints::Given,
    path::{Facts, Step},
};
use super::{
    columns,
    exit::Exit,
    output::{self, Format},
    policy::PolicyOptions,
};

#[derive(Args)]
#[command(after_help = EXAMPLE, after_long_help = EXAMPLES)]
pub(crate) struct Options {
    /// A reason's code or an audit's rule, to be explained
    #[arg(conflicts_with_all = FACTS)]
    code: Option<String>,
    /// The tool's hints: readOnly,idempotent=false
    ///
    /// Names as `mcp-tool audit` shows them, the JSON of the tool's annotations, `none` of the three, or `-`
    /// for a tool without annotations, which is the default.
    #[arg(
        long,
        value_name = "HINTS",
        default_value = "-",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    hints: Given,
    /// What is known of the delivery
    #[arg(long, value_enum, default_value_t, value_name = "DELIVERY")]
    delivery: Known,
    /// How the tool is listed after the loss
    #[arg(long, value_enum, default_value_t, value_name = "HOW", hide_short_help = true)]
    definition: Listed,
    /// Both trusts held when the call began, so that nobody may have confirmed it
    #[arg(long, hide_short_help = true)]
    began_trusted: bool,
    /// How many times the call was sent again already
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true)]
    replays: u32,
    /// The tool's name, for --never and --safe
    #[arg(long, value_name = "NAME", default_value = "tool", hide_short_help = true)]
    tool: String,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t, value_name = "text|json", hide_possible_values = true)]
    output: Format,
    #[command(flatten, next_help_heading = "Safety")]
    policy: PolicyOptions,
}

/// What a code needs none of.
const FACTS: [&str; 13] = [
    "hints",
    "delivery",
    "definition",
    "began_trusted",
    "replays",
    "tool",
    "trust_server",
    "trust_workspace",
    "max_replays",
    "no_resend_unsent",
    "accept_refusals",
    "never",
    "safe",
];

const EXAMPLE: &str = "\
Examples:
  mcp-tool explain --hints idempotent --trust-server --trust-workspace
  mcp-tool explain contradictory_hints";

const EXAMPLES: &str = "\
Examples:
  mcp-tool explain --hints readOnly,idempotent=false --trust-server
  mcp-tool explain --delivery unsent
  mcp-tool explain contradictory_hints";

/// What is known of the delivery.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Known {
    /// It may have run.
    #[default]
    Unknown,
    /// Proven: no complete request can have been received.
    Unsent,
    /// The peer says that it did not process it.
    Refused,
}

/// How the tool is listed after the loss.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Listed {
    /// As before.
    #[default]
    Same,
    /// With another description, output schema or annotations.
    Changed,
    /// With another input schema.
    SchemaChanged,
    /// More than once, with different definitions.
    Ambiguous,
}

pub(crate) fn run(options: Options) -> Exit {
    let format = options.output;
    let said = match options.code.as_deref() {
        Some(code) => codes::explain(code, format),
        None => Ok(verdict(options)),
    };
    said.and_then(|said| Ok(output::write(&said)?))
        .map_or_else(|problem| problem.tell(), |()| Exit::Completed)
}

fn verdict(options: Options) -> String {
    // A call that is unsent as a whole was never replayed.
    let (delivery, replays, resends) = match options.delivery {
        Known::Unknown => (Delivery::Unknown, options.replays, 0),
        Known::Unsent => (Delivery::Unsent, 0, options.replays),
        Known::Refused => (Delivery::Refused, options.replays, 0),
    };
    let facts = Facts {
        tool: options.tool,
        delivery,
        trust: options.policy.given(),
        trust_at_start: if options.began_trusted { Trust::BOTH } else { Trust::NONE },
        hints: options.hints.0,
        definition: match options.definition {
            Listed::Same => Definition::Same,
            Listed::Changed => Definition::Changed,
            Listed::SchemaChanged => Definition::SchemaChanged,
            Listed::Ambiguous => Definition::Ambiguous,
        },
        fence: Fence::None,
        replays,
        resends,
        policy: options.policy,
    };
    let (decision, path) = (facts.decide(), facts.path());
    match options.output {
        Format::Text => text(facts.delivery, decision, &path),
        Format::Json => format!("{}\n", json(facts.delivery, decision, &path)),
    }
}

fn text(delivery: Delivery, decision: Decision, path: &[Step]) -> String {
    let mut text = match (decision, delivery) {
        (Decision::Replay, Delivery::Unsent) => "delivered after reconnecting: it never left\n".to_owned(),
        (Decision::Replay, _) => "sent again after reconnecting\n".to_owned(),
        (Decision::Deny(reason), Delivery::Unsent) => format!("not sent again, and not executed: {reason}\n"),
        (Decision::Deny(reason), _) => format!("not sent again, and its outcome is unknown: {reason}\n"),
    };
    text.push('\n');
    let heads = ["RECONNECT?", "SEND AGAIN?", "RULE", "CODE", "WHAT WOULD HAVE TO CHANGE"].map(str::to_owned);
    let row = |step: &Step| {
        // Of a rule with several reasons, those that it does not give are for readers of the JSON.
        let code = match (step.failed(), step.reasons) {
            (Some(reason), _) => reason.code(),
            (None, [reason]) => reason.code(),
            (None, _) => "",
        };
        let change = step.change().unwrap_or_default();
        [step.before_reconnect.word(), step.before_replay.word(), step.rule, code, change].map(str::to_owned)
    };
    let lines: Vec<_> = std::iter::once(heads).chain(path.iter().map(row)).collect();
    columns::aligned(&mut text, &lines);
    text
}

fn json(delivery: Delivery, decision: Decision, path: &[Step]) -> Value {
    let reason = match decision {
        Decision::Replay => None,
        Decision::Deny(reason) => Some(reason.code()),
    };
    let step = |step: &Step| {
        json!({
            "rule": step.rule,
            "before_reconnect": step.before_reconnect.code(),
            "before_replay": step.before_replay.code(),
            "reasons": step.reasons.iter().map(|reason| reason.code()).collect::<Vec<_>>(),
            "reason": step.failed().map(|reason| reason.code()),
            "change": step.change(),
        })
    };
    json!({
        "decision": if reason.is_none() { "replay" } else { "deny" },
        "reason": reason,
        "delivery": match delivery {
            Delivery::Unsent => "unsent",
            Delivery::Refused => "refused",
            Delivery::Unknown => "unknown",
        },
        "path": path.iter().map(step).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_goes_with_no_fact() {
        let command = Options::augment_args(clap::Command::new("explain"));
        let facts = command.get_arguments().map(|argument| argument.get_id().as_str());
        assert!(facts.filter(|id| !["code", "output"].contains(id)).eq(FACTS));
    }
}
