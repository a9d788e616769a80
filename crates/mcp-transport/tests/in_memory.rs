//! The stdio transport, and an adopted service, against servers written by hand at the other end of
//! in-memory streams. Time is tokio's paused clock: it only moves when nothing else can.

mod adopt;
mod answers;
mod asked;
mod bounds;
mod echo;
mod ending;
mod events;
mod evidence;
mod hazards;
mod host;
mod mocks;
mod noise;
mod queue;
mod server;
mod tasks;
mod valve;
