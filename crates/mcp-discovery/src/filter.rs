use std::{collections::HashSet, fmt, sync::Arc};

/// Which of a server's tools the host wants, by their exact names. Default: all.
///
/// A tool that is not wanted is left out of the catalog: for whoever calls it, the server does not list it.
/// It costs what any other tool costs while the server is listed.
///
/// ```
/// use mcp_discovery::ToolFilter;
///
/// let filter = ToolFilter::all().including(["read", "write"]).excluding(["write"]);
/// assert_eq!(["read", "write", "other"].map(|name| filter.allows(name)), [true, false, false]);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// All, where this is absent.
    include: Option<Names>,
    exclude: Names,
}

type Names = Arc<HashSet<Box<str>>>;

impl ToolFilter {
    /// Every tool.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only these, instead of those that were named before. Default: all.
    #[must_use]
    pub fn including(mut self, names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        self.include = Some(gather(names));
        self
    }

    /// None of these, instead of those that were named before; that wins over [`including`](Self::including).
    /// Default: none.
    #[must_use]
    pub fn excluding(mut self, names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        self.exclude = gather(names);
        self
    }

    /// Whether the tool of this name is wanted.
    pub fn allows(&self, name: &str) -> bool {
        !self.exclude.contains(name) && self.include.as_ref().is_none_or(|include| include.contains(name))
    }

    pub(crate) fn is_all(&self) -> bool {
        self.include.is_none() && self.exclude.is_empty()
    }
}

fn gather(names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Names {
    Arc::new(names.into_iter().map(Into::into).collect())
}

impl fmt::Debug for ToolFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFilter")
            .field("include", &self.include.as_ref().map(|include| include.len()))
            .field("exclude", &self.exclude.len())
            .finish()
    }
}
