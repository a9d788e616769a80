//! What comes from outside, as bytes that somebody else chooses. Each function takes one input through the
//! public path and panics where a promise is broken.
//!
//! libFuzzer runs them (tests/fuzz), and the test `fuzz` runs them with a mutator of its own.

mod config;
mod events;
mod frames;
mod listing;
mod server;

pub use config::config;
pub use events::events;
pub use frames::{frames, handshake};
pub use listing::listing;
