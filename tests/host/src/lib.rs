//! A host of MCP servers: it runs the tool calls of a model, asks a person where it must, and tells the
//! model what became of each call.
//!
//! | file | what it does |
//! |---|---|
//! | `call.rs` | what the model asked for |
//! | `host.rs` | one call, from the model's request to what the model is told |
//! | `told.rs` | what the model is told of each outcome |
//! | `person.rs` | what a person is asked |
//! | `settings.rs` | what the user trusts, read live |
//! | `operator.rs` | what the operator sees |

mod call;
mod host;
mod operator;
mod person;
mod settings;
mod told;

pub use call::ModelCall;
pub use host::Host;
pub use operator::Operator;
pub use person::{Finding, Person, Why};
pub use settings::Settings;
