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
        let mut lines = text.lines();
        for ran in [&[1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1][..], &[1, 2, 1, 1, 1, 0, 1]] {
            let rule = lines.by_ref().find(|line| line.starts_with("---")).unwrap();
            let column = rule.find(' ').unwrap();
            let rows = lines.by_ref().take_while(|line| !line.trim().is_empty());
            let numbers =
                rows.map(|row| row[column..].split_whitespace().next().unwrap().parse::<u32>().unwrap());
            assert_eq!(numbers.collect::<Vec<_>>(), ran, "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_demo_fails_when_a_row_does_not_come_out_as_the_guarantee_says() {
    let mut text = Vec::new();
    let verdict = run(&Server::new("/no/such/server"), &mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(verdict, Verdict::Broken, "{text}");
    assert!(text.contains("18 of 18 rows broke the guarantee."), "{text}");
}
