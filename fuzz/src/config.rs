use mcp_tool_cli::config::{Config, Reach};

/// The text of a configuration file.
///
/// Whatever it is, it is read to the end or refused, entry by entry, and names no entry twice.
pub fn config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parsed = match Config::parse("mcp.json", &text) {
        Ok(config) => config,
        Err(error) => return assert!(error.to_string().starts_with("mcp.json:")),
    };
    for (at, entry) in parsed.entries().iter().enumerate() {
        let first = parsed.entries().iter().position(|other| other.name() == entry.name());
        assert_eq!(first, Some(at));
        match entry.settings(|name| (name.len() % 2 == 0).then(|| "value".to_owned())) {
            Ok(settings) => {
                if let Reach::Stdio { args, .. } = &settings.reach {
                    assert!(args.len() <= text.len());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let _ = format!("{parsed:?}");
}
