//! The command as its user runs it, against servers that fail on demand.

mod audit;
mod bench;
mod call_input;
mod call_outcomes;
mod call_secrets;
mod completions;
mod configuration;
mod documents;
mod drill;
mod drill_ledgers;
mod explain;
mod interrupts;
mod list;
mod messages;
mod servers;
mod terminal;
mod trust;
mod watch;
