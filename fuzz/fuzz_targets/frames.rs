//! See `mcp_tool_fuzz::frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_tool_fuzz::frames(data));
