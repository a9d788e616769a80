use mcp_tool::mcp_discovery::ToolName;

/// What was meant, perhaps: ` (did you mean …?)`, or nothing. A name is shown so that nothing in it acts.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    /// Below this, two names have little in common.
    const ALIKE: f64 = 0.7;
    let alike = known.into_iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let nearest = alike.filter(|(alike, _)| *alike > ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, known)| format!(" (did you mean `{}`?)", ToolName::from(known))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_if_there_is_one_that_is_near() {
        let known = ["read_file", "write_file", "list"];
        assert_eq!(suggestion("raed_file", known), " (did you mean `read_file`?)");
        assert_eq!(suggestion("wirte_file", known), " (did you mean `write_file`?)");
        assert_eq!(suggestion("zebra", known), "");
        assert_eq!(suggestion("x", []), "");
        assert_eq!(suggestion("read", ["read\u{1b}[2J"]), " (did you mean `read\\u{1b}[2J`?)");
    }
}
