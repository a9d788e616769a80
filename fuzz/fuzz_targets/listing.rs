//! See `mcp_tool_fuzz::listing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_tool_fuzz::listing(data));
