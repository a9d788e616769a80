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
            let rows = rows.filter(|line| !line.starts_with("    "));
            let numbers =
                rows.map(|row| row[column..].split_whitespace().next().unwrap().parse::<u32>().unwrap());
            assert_eq!(numbers.collect::<Vec<_>>(), ran, "{text}");
        }
    }
}

#[test]
fn the_line_below_a_row_says_what_happened_to_its_call() {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-tool")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let below = |row: &str| {
        let mut lines = text.lines().skip_while(|line| !line.starts_with(row));
        lines.nth(1).unwrap_or_else(|| panic!("{row} is not in {text}")).trim()
    };
    for (row, course) in [
        ("nothing ", "sent > it ran > answered"),
        ("died after running; the tool says nothing", "sent > it ran > LOST > not sent again"),
        (
            "died after running; declared idempotent ",
            "sent > it ran > LOST > reconnected, tools listed again > sent again > it ran > answered",
        ),
        ("died while idle", "reconnected, tools listed again > sent > it ran > answered"),
        ("the caller cancelled", "sent > it ran > cancelled"),
        ("307, a redirect", "sent > an error status > given up"),
        (
            "down when the call came",
            "sent > LOST before it left > reconnected, tools listed again > delivered for the first time > it ran \
             > answered",
        ),
    ] {
        assert_eq!(below(row), course);
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
