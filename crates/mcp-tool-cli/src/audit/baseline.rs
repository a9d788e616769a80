use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Report;

/// Findings that are known, so that only new ones count. Each is known by its rule and its tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    known: BTreeSet<Known>,
}

/// Why a file is no baseline. Quotes nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// It is no JSON, or no object of this shape.
    #[error("this is no baseline: write one with --write-baseline")]
    NoBaseline,
    /// It is of a later version.
    #[error("this baseline is of version {0}, and only version 1 is known here")]
    Version(u32),
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    findings: Vec<Known>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    rule: String,
    tool: Option<String>,
}

impl Baseline {
    /// Everything that a report has found.
    pub fn of(report: &Report) -> Self {
        let known = report.findings.iter().map(|finding| {
            let (rule, tool) = finding.fingerprint();
            Known { rule: rule.to_owned(), tool: tool.map(str::to_owned) }
        });
        Self { known: known.collect() }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// When it is no baseline, or one of a later version.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let file: File = serde_json::from_str(text).map_err(|_| BaselineError::NoBaseline)?;
        match file.version {
            1 => Ok(Self { known: file.findings.into_iter().collect() }),
            later => Err(BaselineError::Version(later)),
        }
    }

    /// The text of a file: sorted, one finding a line, so that its changes can be read.
    pub fn to_text(&self) -> String {
        let line = |known| format!("    {}", serde_json::to_string(known).unwrap_or_default());
        let lines: Vec<String> = self.known.iter().map(line).collect();
        let body = if lines.is_empty() { String::new() } else { format!("\n{}\n  ", lines.join(",\n")) };
        format!("{{\n  \"version\": 1,\n  \"findings\": [{body}]\n}}\n")
    }

    /// Marks what is known in a report, and returns what is stale: known, and not found any more.
    pub fn apply(&self, report: &mut Report) -> Vec<(String, Option<String>)> {
        let mut stale = self.known.clone();
        for finding in &mut report.findings {
            let (rule, tool) = finding.fingerprint();
            let known = Known { rule: rule.to_owned(), tool: tool.map(str::to_owned) };
            finding.known = self.known.contains(&known);
            stale.remove(&known);
        }
        stale.into_iter().map(|known| (known.rule, known.tool)).collect()
    }
}
