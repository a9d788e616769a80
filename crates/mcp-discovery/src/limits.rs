use std::time::Duration;

/// What a listing may cost. A listing over a limit is given up; its connection is left alone.
///
/// A server decides how many pages there are, so without limits it decides how much memory and time the
/// client spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    pub(crate) pages: usize,
    pub(crate) tools: usize,
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
    pub(crate) page_time: Duration,
}

impl Default for ListLimits {
    fn default() -> Self {
        Self {
            pages: 1_000,
            tools: 100_000,
            bytes: 64 * 1024 * 1024,
            time: Duration::from_secs(60),
            page_time: Duration::from_secs(30),
        }
    }
}

impl ListLimits {
    /// The most pages. Default: 1,000.
    #[must_use]
    pub fn with_pages(mut self, pages: usize) -> Self {
        self.pages = pages;
        self
    }

    /// The most tools, repeated and malformed ones included. Default: 100,000.
    #[must_use]
    pub fn with_tools(mut self, tools: usize) -> Self {
        self.tools = tools;
        self
    }

    /// The most bytes of JSON over all tools and cursors. Default: 64 MiB.
    #[must_use]
    pub fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// The longest time for all pages together. Default: 60 s.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// The longest time for one request of a page; it is made twice at most. Default: 30 s.
    #[must_use]
    pub fn with_page_time(mut self, page_time: Duration) -> Self {
        self.page_time = page_time;
        self
    }
}
