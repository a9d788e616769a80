//! The demo as its user runs it, and that it can fail.

use std::process::Command;

use mcp_tool_cli::demo::{Server, Verdict, run};

#[test]
fn the_demo_shows_every_row_and_succeeds() {
    for arguments in [&[][..], &["demo"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_mcp-tool")).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        assert!(!text.contains("BROKEN"), "{text}");
        let rows = text.lines().skip_while(|line| !line.starts_with("---")).skip(1);
        let rows: Vec<_> = rows.take_while(|line| !line.is_empty()).collect();
        assert_eq!(rows.len(), 11, "{text}");
        let ran: Vec<_> = rows.iter().filter_map(|row| row[62..].split_whitespace().next()).collect();
        assert_eq!(ran, ["1", "1", "2", "2", "1", "1", "1", "1", "1", "1", "1"], "{text}");
    }
}

#[tokio::test]
async fn the_demo_fails_when_a_row_does_not_come_out_as_the_guarantee_says() {
    let mut text = Vec::new();
    let verdict = run(&Server::new("/no/such/server"), &mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(verdict, Verdict::Broken, "{text}");
    assert!(text.contains("11 of 11 rows broke the guarantee."), "{text}");
}
