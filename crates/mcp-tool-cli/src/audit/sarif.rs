//! SARIF 2.1.0 (OASIS), for code scanning.

use serde_json::{Map, Value, json};

use super::{Finding, Report, Rule};

/// What a report is about, as far as its readers need to know.
#[derive(Clone, Debug)]
pub enum Source<'a> {
    /// A file of a saved list: its path as it was given, and the line on which each tool begins, counted
    /// from 1.
    File {
        /// The path; none for standard input.
        path: Option<&'a str>,
        /// The lines, in the order of the listing.
        lines: &'a [usize],
    },
    /// A server that was asked, by its name. Its URL and its command line are not told.
    Server(&'a str),
}

impl Report {
    /// The report as a SARIF log of one run. What a baseline knows is there, suppressed.
    pub fn sarif(&self, source: &Source<'_>) -> Value {
        let rules: Vec<Value> = Rule::ALL.into_iter().map(descriptor).collect();
        let results: Vec<Value> = self.findings.iter().map(|finding| result(finding, source)).collect();
        json!({
            "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "mcp-tool audit",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules,
                } },
                "columnKind": "utf16CodeUnits",
                "results": results,
            }],
        })
    }
}

fn descriptor(rule: Rule) -> Value {
    json!({
        "id": rule.id(),
        "shortDescription": { "text": rule.summary() },
        "help": { "text": rule.remedy() },
        "defaultConfiguration": { "level": rule.severity().word() },
    })
}

fn result(finding: &Finding, source: &Source<'_>) -> Value {
    let message = match &finding.tool {
        Some(tool) => format!("{tool}: {}", finding.message),
        None => finding.message.clone(),
    };
    let index = Rule::ALL.iter().position(|rule| *rule == finding.rule);
    let mut result = json!({
        "ruleId": finding.rule.id(),
        "ruleIndex": index,
        "level": finding.severity.word(),
        "message": { "text": message },
        "locations": [location(finding, source)],
        "partialFingerprints": { "ruleAndTool/v1": fingerprint(finding) },
    });
    if finding.known {
        result["suppressions"] = json!([{ "kind": "external", "justification": "known to the baseline" }]);
    }
    result
}

fn location(finding: &Finding, source: &Source<'_>) -> Value {
    let mut location = Map::new();
    let server = match source {
        Source::Server(server) => Some(*server),
        Source::File { path, lines } => {
            if let Some(path) = path {
                let line = finding.place().and_then(|place| lines.get(place)).copied().unwrap_or(1);
                let place =
                    json!({ "artifactLocation": { "uri": uri(path) }, "region": { "startLine": line } });
                location.insert("physicalLocation".into(), place);
            }
            None
        }
    };
    let logical = match (&finding.tool, server) {
        (Some(tool), Some(server)) => Some(
            json!({ "name": tool, "fullyQualifiedName": format!("{server}/{tool}"), "kind": "function" }),
        ),
        (Some(tool), None) => Some(json!({ "name": tool, "kind": "function" })),
        (None, Some(server)) => Some(json!({ "name": server, "kind": "module" })),
        (None, None) => None,
    };
    if let Some(logical) = logical {
        location.insert("logicalLocations".into(), json!([logical]));
    }
    location.into()
}

fn fingerprint(finding: &Finding) -> String {
    let (rule, tool) = finding.fingerprint();
    tool.map_or_else(|| rule.to_owned(), |tool| format!("{rule}/{tool}"))
}

/// A path as a relative reference, or an absolute `file` URI.
fn uri(path: &str) -> String {
    const PLAIN: &[u8] = b"-._~/";
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.trim_start_matches("./").bytes() {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            uri.push(byte.into());
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_reference() {
        let rows = [
            ("tools.json", "tools.json"),
            ("./a b/ü.json", "a%20b/%C3%BC.json"),
            ("/srv/tools.json", "file:///srv/tools.json"),
            ("a:b#c?d", "a%3Ab%23c%3Fd"),
        ];
        for (path, expected) in rows {
            assert_eq!(uri(path), expected);
        }
    }
}
