//! Every code stands in docs/errors.md once, with what it means and what to do.
//!
//! The enums are `#[non_exhaustive]`, so nothing outside their crates can be made to name every variant. The
//! match in each `code` is exhaustive where it stands, so the codes are read there: a variant that is added
//! has to have an arm in it.

use std::collections::{BTreeMap, BTreeSet};

use mcp_tool::replay_policy;

/// An enum with codes, the source of it, and the arms of its `code` that hand on somebody else's.
struct Kind {
    name: &'static str,
    source: &'static str,
    handed_on: &'static [&'static str],
}

macro_rules! source {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $path))
    };
}

const KINDS: [Kind; 8] = [
    Kind { name: "mcp_tool::Outcome", source: source!("mcp-tool/src/error.rs"), handed_on: &[] },
    Kind {
        name: "mcp_tool::Reason",
        source: source!("mcp-tool/src/reason.rs"),
        handed_on: &["Self::Denied(reason) => reason.code(),", "Self::Transport(kind) => kind.code(),"],
    },
    Kind {
        name: "replay_policy::Reason",
        source: source!("replay-policy/src/reason.rs"),
        handed_on: &["Self::Custom(code) => code,"],
    },
    Kind { name: "mcp_transport::ErrorKind", source: source!("mcp-transport/src/error.rs"), handed_on: &[] },
    Kind {
        name: "mcp_discovery::DiscoveryErrorKind",
        source: source!("mcp-discovery/src/error.rs"),
        handed_on: &[],
    },
    Kind {
        name: "mcp_discovery::DownReason",
        source: source!("mcp-discovery/src/supervised/status.rs"),
        handed_on: &[],
    },
    Kind {
        name: "mcp_discovery::QuarantineReason",
        source: source!("mcp-discovery/src/quarantine.rs"),
        handed_on: &[],
    },
    Kind { name: "mcp_discovery::Warning", source: source!("mcp-discovery/src/listing.rs"), handed_on: &[] },
];

const DOCUMENT: &str = source!("../docs/errors.md");

impl Kind {
    /// The codes, one for each arm of the match in `code`.
    fn codes(&self) -> Vec<&'static str> {
        let (_, after) = self.source.split_once("fn code(").expect(self.name);
        let (body, _) = after.split_once("\n    }\n").expect(self.name);
        let arms = body.lines().map(str::trim).filter(|line| line.contains("=>"));
        let own = arms.filter(|arm| !self.handed_on.contains(arm));
        own.map(|arm| {
            let (_, code) = arm.split_once("=> \"").unwrap_or_else(|| panic!("{}: {arm}", self.name));
            code.strip_suffix("\",").unwrap_or_else(|| panic!("{}: {arm}", self.name))
        })
        .collect()
    }
}

/// The rows of the tables of codes, by the enum that their heading names.
fn documented() -> BTreeMap<&'static str, Vec<Vec<&'static str>>> {
    let mut rows = BTreeMap::new();
    for section in DOCUMENT.split("\n## ").skip(1) {
        let Some((name, body)) = section.strip_prefix('`').and_then(|section| section.split_once("`\n"))
        else {
            continue;
        };
        let cells = |row: &'static str| row.trim_matches('|').split('|').map(str::trim).collect();
        let table = body.lines().filter(|line| line.starts_with("| `")).map(cells);
        assert!(rows.insert(name, table.collect()).is_none(), "{name} has two sections");
    }
    rows
}

#[test]
fn codes_are_unique_within_their_kind_and_snake_case() {
    for kind in KINDS {
        let codes = kind.codes();
        assert!(!codes.is_empty(), "{}", kind.name);
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len(), "{}: {codes:?}", kind.name);
        for code in codes {
            let words = code.split('_').all(|word| {
                !word.is_empty()
                    && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            });
            assert!(words, "{}: {code}", kind.name);
        }
    }
}

#[test]
fn every_code_has_one_row_in_the_document_and_no_row_is_left_over() {
    let documented = documented();
    assert!(documented.keys().copied().eq(KINDS.iter().map(|kind| kind.name).collect::<BTreeSet<_>>()));
    for kind in KINDS {
        let mut rows: Vec<_> = documented[kind.name].iter().map(|row| row[0].trim_matches('`')).collect();
        let mut codes = kind.codes();
        rows.sort_unstable();
        codes.sort_unstable();
        assert_eq!(rows, codes, "{}", kind.name);
    }
}

#[test]
fn every_row_of_the_document_says_what_a_code_means_and_what_to_do() {
    for (name, rows) in documented() {
        let columns = rows[0].len();
        for row in rows {
            assert!(row.len() == columns && columns >= 3, "{name}: {row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty()), "{name}: {row:?}");
        }
    }
}

/// The reading of the sources, held against an enum that can be walked.
#[test]
fn the_codes_read_from_a_source_are_those_of_the_enum() {
    let policy = KINDS.iter().find(|kind| kind.name == "replay_policy::Reason").unwrap();
    assert!(policy.codes().into_iter().eq(replay_policy::Reason::fixed().map(replay_policy::Reason::code)));
}
