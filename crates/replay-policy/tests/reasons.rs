//! Codes that logs, metrics and other programs may rely on.

use std::collections::HashSet;

use replay_policy::Reason;

#[test]
fn codes_are_stable() {
    let codes: Vec<_> = Reason::fixed().map(Reason::code).collect();
    assert_eq!(
        codes,
        [
            "operator_never",
            "ambiguous_tool",
            "trust_withdrawn",
            "server_untrusted",
            "workspace_untrusted",
            "malformed_hints",
            "unannotated",
            "contradictory_hints",
            "not_declared_safe",
            "tool_changed",
            "not_fenced",
            "replay_limit",
            "resend_limit",
        ]
    );
}

#[test]
fn codes_are_unique_and_snake_case() {
    let mut seen = HashSet::new();
    for code in Reason::fixed().map(Reason::code) {
        assert!(seen.insert(code), "{code} twice");
        assert!(
            code.split('_').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())),
            "{code}"
        );
    }
}

#[test]
fn a_code_is_the_variants_name() {
    for reason in Reason::fixed() {
        let camel: String =
            reason.code().split('_').map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
        assert_eq!(format!("{reason:?}"), camel);
    }
}

#[test]
fn a_reason_displays_as_its_code() {
    for reason in Reason::fixed().chain([Reason::Custom("budget_spent")]) {
        assert_eq!(reason.to_string(), reason.code());
    }
    assert_eq!(Reason::Custom("budget_spent").code(), "budget_spent");
    assert_eq!(format!("{:>14}", Reason::ReplayLimit), "  replay_limit");
}

#[test]
fn the_documentation_lists_the_reasons_in_their_order() {
    let readme = include_str!("../README.md");
    let (_, section) = readme.split_once("## Reasons").unwrap();
    let (section, _) = section.split_once("## Limits").unwrap();
    let listed: Vec<&str> =
        section.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once("` | ")?.0)).collect();
    assert_eq!(listed, Reason::fixed().map(Reason::code).collect::<Vec<_>>());
}
