//! The fault server as a program of its own, for the tests.
fn main() {}
