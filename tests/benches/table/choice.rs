//! Which rows are wanted, and for how long: `cargo bench -p mcp-tool-tests -- [--quick] [word]…`.

use std::env;

/// What the command line says.
pub(crate) struct Choice {
    words: Vec<String>,
    quick: bool,
}

impl Choice {
    /// None when this is no benchmark: only `cargo bench` says that it is, so that no run of tests times
    /// anything.
    pub(crate) fn of_benchmark() -> Option<Self> {
        let arguments: Vec<String> = env::args().skip(1).collect();
        let says = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let words = arguments.iter().filter(|argument| !argument.starts_with("--"));
        says("--bench").then(|| Self { words: words.cloned().collect(), quick: says("--quick") })
    }

    /// Whether a row of this name is wanted: it holds one of the words, or there are none.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word))
    }

    /// So much, or as little as is needed to see that it runs.
    pub(crate) fn of<T>(&self, thorough: T, quick: T) -> T {
        if self.quick { quick } else { thorough }
    }
}
