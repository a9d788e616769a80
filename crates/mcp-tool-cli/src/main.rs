//! The command `mcp-tool`.
fn main() {}
