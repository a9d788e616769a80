//! `PagingDiscovery` against a server that writes down what reaches it.

mod changes;
mod closing;
mod crowds;
mod recovery;
mod server;
mod sharing;
mod walk;
