//! What codes mean, as docs/errors.md has it. codes.md is a link to that, so there is one text; what is
//! published holds a copy, since cargo follows links.

use std::fmt::Write as _;

use mcp_tool::mcp_discovery::ToolName;
use mcp_tool_cli::audit::Rule;
use serde_json::{Value, json};

use crate::command::{nearest, output::Format, problem::Problem};

const TABLES: &str = include_str!("codes.md");

/// One code, as one of the tables has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Code<'a> {
    code: &'a str,
    /// What it is a code of.
    of: &'a str,
    /// With which class and delivery an error of a connection is born.
    born: Option<&'a str>,
    meaning: String,
    remedy: String,
}

/// What a code means and what to do: each meaning, where more than one list has it.
pub(super) fn explain(code: &str, format: Format) -> Result<String, Problem> {
    let all = all();
    let found: Vec<_> = all.iter().filter(|known| known.code == code).collect();
    if found.is_empty() {
        let meant = match nearest::suggestion(code, all.iter().map(|known| known.code)) {
            none if none.is_empty() => ": docs/errors.md lists them all".to_owned(),
            meant => meant,
        };
        return Err(Problem::new(format!("there is no code or rule `{}`{meant}", ToolName::from(code))));
    }
    Ok(match format {
        Format::Text => found.iter().map(|code| code.text()).collect::<Vec<_>>().join("\n"),
        Format::Json => {
            format!("{}\n", json!({ "codes": found.iter().map(|code| code.json()).collect::<Vec<_>>() }))
        }
    })
}

fn all() -> Vec<Code<'static>> {
    let rules = Rule::ALL.into_iter().map(|rule| Code {
        code: rule.id(),
        of: "a rule of mcp-tool audit",
        born: Some(rule.severity().word()),
        meaning: plain(rule.summary()),
        remedy: plain(rule.remedy()),
    });
    codes(TABLES).into_iter().chain(rules).collect()
}

/// The codes of the tables under headings that name what they are codes of.
fn codes(text: &str) -> Vec<Code<'_>> {
    let mut codes = Vec::new();
    let mut of = None;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            of = heading.strip_prefix('`').and_then(|heading| heading.strip_suffix('`'));
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let code = cells[0].strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
        let (Some(of), Some(code), true) = (of, code, line.starts_with("| ")) else { continue };
        let (born, rest) = match &cells[1..] {
            [born, rest @ ..] if rest.len() == 2 => (Some(*born), rest),
            rest => (None, rest),
        };
        if let [meaning, remedy] = rest {
            codes.push(Code { code, of, born, meaning: plain(meaning), remedy: plain(remedy) });
        }
    }
    codes
}

/// The text of a cell without the marks of Markdown.
fn plain(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    let mut rest = cell;
    while let Some((before, link)) = rest.split_once('[') {
        let Some(((shown, _), after)) =
            link.split_once(')').and_then(|(link, after)| Some((link.split_once("](")?, after)))
        else {
            break;
        };
        text.push_str(before);
        text.push_str(shown);
        rest = after;
    }
    text.push_str(rest);
    text.replace('`', "")
}

impl Code<'_> {
    fn text(&self) -> String {
        let mut text = format!("{}: {}", self.code, self.of);
        if let Some(born) = self.born {
            let _ = write!(text, " ({born})");
        }
        let _ = write!(text, "\n  meaning     {}\n  what to do  {}\n", self.meaning, self.remedy);
        text
    }

    fn json(&self) -> Value {
        json!({ "code": self.code, "of": self.of, "meaning": self.meaning, "do": self.remedy })
    }
}

#[cfg(test)]
mod tests {
    use mcp_tool::replay_policy;

    use super::*;

    #[test]
    fn every_table_of_codes_in_the_document_is_read_in_full() {
        let rows = TABLES.lines().filter(|line| line.starts_with("| `"));
        let without_heading = TABLES.split("\n## ").filter(|section| !section.starts_with('`'));
        let others = without_heading.flat_map(str::lines).filter(|line| line.starts_with("| `"));
        let codes = codes(TABLES);
        assert!(codes.len() > 70, "{}", codes.len());
        assert_eq!(codes.len(), rows.count() - others.count());
    }

    #[test]
    fn every_reason_of_the_policy_is_explained() {
        for reason in replay_policy::Reason::fixed() {
            let text = explain(reason.code(), Format::Text).unwrap();
            assert!(text.contains(&format!("{reason}: replay_policy::Reason\n")), "{text}");
        }
    }

    #[test]
    fn marks_of_markdown_are_taken_off() {
        assert_eq!(plain("see the [code](x.md#y) `a` and [b](c)"), "see the code a and b");
        assert_eq!(plain("an [open bracket"), "an [open bracket");
    }
}
