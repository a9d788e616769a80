//! What the documents show is what the command prints.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::bench::{Bench, EXE, run};

/// A block of a document that shows a command and what it prints on both streams.
struct Shown {
    line: String,
    printed: String,
}

fn shown(document: &str) -> Vec<Shown> {
    let blocks = document.split("```console\n$ ").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    blocks
        .map(|block| {
            let (line, printed) = block.split_once('\n').unwrap_or((block, ""));
            Shown { line: line.to_owned(), printed: format!("{printed}\n") }
        })
        .collect()
}

/// Words, some of them in single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn assert_shown(document: &str, at_least: usize) {
    let document = fs::read_to_string(root().join("docs").join(document)).unwrap();
    let bench = Bench::new();
    let data = root().join("crates/mcp-tool-cli/tests/data");
    fs::copy(data.join("tools.json"), bench.work().join("tools.json")).unwrap();
    let all = shown(&document);
    assert!(all.len() >= at_least, "{}", all.len());
    for Shown { line, printed } in all {
        let words = words(line.strip_prefix("mcp-tool ").expect(&line));
        // A drill's client may be this command, which is looked up.
        let program = Path::new(EXE).parent().unwrap().to_owned();
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([program].into_iter().chain(env::split_paths(&path))).unwrap();
        let ran = run(bench.command(words).env("PATH", path));
        assert_eq!(format!("{}{}", ran.stdout, ran.stderr), printed, "{line}");
    }
}

#[test]
fn what_the_document_of_the_command_shows_is_what_it_prints() {
    assert_shown("cli.md", 2);
}

#[test]
fn the_audits_that_the_document_shows_print_what_it_shows() {
    assert_shown("audit.md", 1);
}

#[test]
fn the_drills_that_the_document_shows_print_what_it_shows() {
    assert_shown("drill.md", 2);
}
