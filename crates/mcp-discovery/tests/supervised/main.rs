//! `SupervisedDiscovery` against a server that comes and goes.

mod changes;
mod coming_back;
mod explicit;
mod health;
mod held;
mod many;
mod schedules;
mod server;
