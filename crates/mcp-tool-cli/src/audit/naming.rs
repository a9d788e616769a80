//! Names that say the contrary of the hints.

use mcp_tool::mcp_discovery::Hint;

use super::{AuditedTool, Finding, Rule};

/// Verbs that change something. Those that change only what a client looks at are left out.
const WRITES: [&str; 58] = [
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "cancel",
    "clear",
    "commit",
    "create",
    "delete",
    "deploy",
    "disable",
    "drop",
    "edit",
    "enable",
    "execute",
    "grant",
    "insert",
    "install",
    "kill",
    "merge",
    "modify",
    "move",
    "patch",
    "pay",
    "post",
    "publish",
    "purge",
    "push",
    "put",
    "reject",
    "remove",
    "rename",
    "replace",
    "reset",
    "restart",
    "revoke",
    "rollback",
    "run",
    "save",
    "send",
    "set",
    "start",
    "stop",
    "submit",
    "terminate",
    "transfer",
    "trigger",
    "truncate",
    "uninstall",
    "unlock",
    "update",
    "upload",
    "upsert",
    "write",
    "overwrite",
    "mutate",
];

/// Verbs that only read: what follows them is what is read.
const READS: [&str; 22] = [
    "analyze", "check", "count", "describe", "diff", "download", "explain", "export", "fetch", "find", "get",
    "inspect", "list", "lookup", "query", "read", "search", "show", "status", "validate", "view", "watch",
];

pub(super) fn look(tool: &AuditedTool, findings: &mut Vec<Finding>) {
    let read_only = tool.hints.unwrap_or_default().read_only;
    if let (Hint::Declared(true), Some(verb)) = (read_only, writing_verb(&tool.name)) {
        let message = format!("readOnlyHint: true, and the name says `{verb}`");
        findings.push(Finding::about(tool, Rule::ReadOnlyName, message));
    }
}

/// The first verb of a name, if it is one that changes something.
pub(super) fn writing_verb(name: &str) -> Option<&'static str> {
    words(name).find_map(|word| {
        let verb = WRITES.into_iter().find(|verb| *verb == word);
        match verb {
            Some(verb) => Some(Some(verb)),
            None => READS.contains(&&*word).then_some(None),
        }
    })?
}

/// The words of a name, in small letters: `getFile`, `get_file`, `get-file` and `GetFile` have the same.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for char in name.chars() {
        if char.is_uppercase() && !before.is_uppercase() || !char.is_alphanumeric() {
            words.push(String::new());
        }
        if char.is_alphanumeric() {
            words.last_mut().expect("there is one from the beginning").extend(char.to_lowercase());
        }
        before = char;
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_verb_of_a_name_says_whether_it_writes() {
        let rows = [
            ("delete_file", Some("delete")),
            ("git_commit", Some("commit")),
            ("browserStart", Some("start")),
            ("notes.create-note", Some("create")),
            ("DELETE_all", Some("delete")),
            ("get_commit", None),
            ("list_runs", None),
            ("search_and_replace", None),
            ("read_update_log", None),
            ("address", None),
            ("", None),
        ];
        for (name, verb) in rows {
            assert_eq!(writing_verb(name), verb, "{name}");
        }
    }
}
