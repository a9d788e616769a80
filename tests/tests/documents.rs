//! The documents are held to the code and to each other.

use std::{
    collections::{BTreeSet, HashSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use mcp_tool::{
    ConservativePolicy, ReplayPolicy, Trust,
    replay_policy::{Checkpoint, Decision, FailedAttempt, Hints},
};
use serde_json::Value;

#[test]
fn the_table_of_hints_is_the_gate() {
    let document = read(&root().join("docs/replay-safety.md"));
    let hint = |cell: &str| match cell {
        "-" => None,
        "true" => Some(true),
        "false" => Some(false),
        other => panic!("{other} is no hint"),
    };
    let mut combinations = HashSet::new();
    let mut replays = 0;
    for row in document.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit()) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let hints = Hints {
            read_only: hint(cells[2]),
            destructive: hint(cells[3]),
            idempotent: hint(cells[4]),
            ..Hints::NONE
        };
        assert!(combinations.insert(hints), "{row} stands twice");
        let lost = FailedAttempt::new("put", Checkpoint::BeforeReconnect)
            .with_trust(Trust::BOTH)
            .with_hints(Some(hints));
        match ConservativePolicy::default().decide(&lost) {
            Decision::Replay => {
                replays += 1;
                assert_eq!(cells[5], "replay", "{row}");
            }
            Decision::Deny(reason) => assert_eq!(cells[5], format!("`{reason}`"), "{row}"),
        }
    }
    assert_eq!((combinations.len(), replays), (27, 10));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut checked = 0;
    for document in documents() {
        let text = read(&document);
        for (target, anchor) in links(&text) {
            let path = if target.is_empty() {
                document.clone()
            } else {
                document.parent().expect("a document lies in a folder").join(target)
            };
            assert!(path.exists(), "{}: {target}", document.display());
            if let Some(anchor) = anchor {
                assert!(anchors(&read(&path)).contains(anchor), "{}: {target}#{anchor}", document.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

#[test]
fn every_document_but_the_first_is_linked_from_another() {
    let documents = documents();
    let linked: HashSet<PathBuf> = documents
        .iter()
        .flat_map(|document| {
            let folder = document.parent().expect("a document lies in a folder");
            let text = read(document);
            links(&text).map(|(target, _)| folder.join(target)).collect::<Vec<_>>()
        })
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    for document in documents {
        let is_first = document == root().join("README.md");
        assert!(is_first || linked.contains(&document), "nothing leads to {}", document.display());
    }
}

#[test]
fn source_files_that_documents_name_exist() {
    let root = root();
    let mut folders = vec![root.clone(), root.join("crates")];
    folders.extend(entries(&root.join("crates")).into_iter().map(|package| package.join("src")));
    let mut checked = 0;
    for document in documents() {
        let text = read(&document);
        let quoted = text.split('`').skip(1).step_by(2);
        for file in quoted.filter(|quoted| quoted.ends_with(".rs") && !quoted.contains(char::is_whitespace)) {
            assert!(
                folders.iter().any(|folder| folder.join(file).exists()),
                "{}: {file}",
                document.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn every_direct_dependency_has_its_reason_and_no_reason_is_left_over() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--all-features", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let name = |package: &Value| package["name"].as_str().expect("a name").to_owned();
    let members: BTreeSet<_> = packages.iter().map(name).collect();
    let dependencies = packages.iter().flat_map(|package| package["dependencies"].as_array());
    let depended_on: BTreeSet<_> = dependencies.flatten().map(name).collect();

    let document = read(&root().join("docs/dependencies.md"));
    let cells = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let explained =
        cells.flat_map(|(names, _)| names.split("`, `")).map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(explained, depended_on.difference(&members).cloned().collect());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .expect("this package lies in the workspace")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every document at the root, under docs/ and beside the crates.
fn documents() -> Vec<PathBuf> {
    let mut folders = vec![root(), root().join("docs"), root().join("docs/decisions")];
    folders.extend(entries(&root().join("crates")));
    let files = folders.iter().flat_map(|folder| entries(folder));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a readable folder").path()).collect()
}

/// The relative links of a document: the file, and the heading in it if there is one.
fn links(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let targets = text.split("](").skip(1).filter_map(|after| Some(after.split_once(')')?.0));
    targets.filter(|target| !target.contains("://")).map(|target| match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    })
}

/// The names by which the headings of a document can be linked.
fn anchors(text: &str) -> HashSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
            kept.map(|char| if char == ' ' { '-' } else { char }).collect()
        })
        .collect()
}
