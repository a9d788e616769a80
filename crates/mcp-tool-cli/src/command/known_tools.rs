//! The names of the tools that configured servers listed when they were last asked, for shells that complete
//! them: nothing is started while somebody types.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use mcp_tool_cli::trusted_folders::user_cache_directory;

/// No more names of one server are kept.
const MOST: usize = 1_000;

/// Keeps the names of a server's tools, in place of those that are kept of it. That it fails is no matter.
pub(crate) fn keep<'a>(server: &str, tools: impl Iterator<Item = &'a str>) {
    if let Some(file) = folder().and_then(|folder| file(&folder, server)) {
        // Without them, nothing is completed.
        let _ = write(&file, tools.take(MOST));
    }
}

/// The names that are kept: those of the server that these words of a command line name, or else all.
pub(crate) fn names(words: &[String]) -> BTreeSet<String> {
    let Some(folder) = folder() else { return BTreeSet::new() };
    let files = match server(words) {
        Some(server) => file(&folder, server).into_iter().collect(),
        None => fs::read_dir(folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_else(|_| Vec::new()),
    };
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    let names: Vec<Vec<String>> = texts.filter_map(|text| serde_json::from_str(&text).ok()).collect();
    names.into_iter().flatten().filter(|name| is_plain(name)).collect()
}

/// Whether a shell takes a name as it stands. bash expands what is offered to it, so one with a `$` in it
/// would be run, and servers choose the names of their tools.
pub(crate) fn is_plain(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:@+".contains(char);
    !name.is_empty() && name.chars().all(plain)
}

fn folder() -> Option<PathBuf> {
    Some(user_cache_directory()?.join("tools"))
}

/// One file for each server, so that several can be listed at a time.
fn file(folder: &Path, server: &str) -> Option<PathBuf> {
    let name: String = server.bytes().map(|byte| format!("{byte:02x}")).collect();
    (name.len() <= 200).then(|| folder.join(name).with_extension("json"))
}

fn write<'a>(file: &Path, tools: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let folder = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let text = serde_json::to_vec(&tools.collect::<Vec<_>>())?;
    // Most servers list what they listed the last time.
    if fs::read(file).is_ok_and(|kept| kept == text) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    // Whoever reads it meanwhile finds the old names or the new ones.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&text)?;
    new.persist(file)?;
    Ok(())
}

fn server(words: &[String]) -> Option<&str> {
    // bash takes `--server=name` for three words.
    let after = |at: usize| words[at + 1..].iter().find(|word| *word != "=");
    let given = words.iter().position(|word| word == "--server").and_then(after);
    let joined = || words.iter().find_map(|word| word.strip_prefix("--server="));
    given.map(String::as_str).or_else(joined)
}
