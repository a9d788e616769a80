//! How `tools/list` is cut into pages, and how that goes wrong.
use super::{Scenario, Tools};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;

/// How `tools/list` hands out cursors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cursors {
    /// One cursor per page, none after the last.
    #[default]
    Numbered,
    /// The same, but the second page's cursor is the empty string.
    Empty,
    /// The same cursor for ever, and the first page for ever.
    Constant,
    /// The same cursor for every page, but new tools each time, and an end.
    ConstantMovingOn,
    /// After the `pages`th page the first one's cursor again, for ever.
    Cycle {
        /// The length of the cycle.
        pages: u32,
    },
    /// After the tools of the scenario invented ones, on new pages for ever.
    Endless,
}

/// What goes wrong with one page of `tools/list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PageFault {
    /// A JSON-RPC error at the first request in a process; afterwards the page.
    FailOnce,
    /// A JSON-RPC error at every request.
    FailAlways,
    /// The process dies.
    Die,
    /// The page is answered, and the process dies.
    DieAfterAnswer,
    /// No answer; everything else is served.
    Hang,
}

/// Lists the tools of one process.
#[derive(Debug)]
pub(super) struct Lister {
    tools: Tools,
    page_size: usize,
    cursors: Cursors,
    faults: Vec<(u32, PageFault)>,
    failed: HashSet<u32>,
    last: u32,
}

/// What a request for a page gets.
#[derive(Debug, PartialEq)]
pub(super) enum Page {
    Tools { tools: Vec<Value>, next: Option<String>, is_last_word: bool },
    UnknownCursor,
    Fails,
    Dies,
    Hangs,
}

impl Page {
    /// The name of the fault that struck, as the ledger has it.
    pub(super) fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Tools { is_last_word: true, .. } => Some("page_answered_last"),
            Self::Tools { is_last_word: false, .. } | Self::UnknownCursor => None,
            Self::Fails => Some("page_fails"),
            Self::Dies => Some("page_dies"),
            Self::Hangs => Some("page_hangs"),
        }
    }
}

const CONSTANT: &str = "again";

impl Lister {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let default_size = match scenario.cursors {
            Cursors::Endless => 10,
            _ => usize::MAX,
        };
        Self {
            tools: scenario.tools.clone(),
            page_size: scenario.page_size.unwrap_or(default_size),
            cursors: scenario.cursors,
            faults: scenario.pages.clone(),
            failed: HashSet::new(),
            last: 0,
        }
    }

    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(super) fn change(&mut self, tools: Tools) {
        self.tools = tools;
    }

    pub(super) fn page(&mut self, cursor: Option<&str>) -> Page {
        let Some(number) = self.number(cursor) else {
            return Page::UnknownCursor;
        };
        let fault = self.faults.iter().find(|(page, _)| *page == number).map(|(_, fault)| *fault);
        match fault {
            Some(PageFault::FailOnce) if self.failed.insert(number) => return Page::Fails,
            Some(PageFault::FailAlways) => return Page::Fails,
            Some(PageFault::Die) => return Page::Dies,
            Some(PageFault::Hang) => return Page::Hangs,
            Some(PageFault::FailOnce | PageFault::DieAfterAnswer) | None => self.last = number,
        }
        let is_last_word = fault == Some(PageFault::DieAfterAnswer);
        Page::Tools { tools: self.definitions(number), next: self.next(number), is_last_word }
    }

    /// The page behind a cursor, counted from 1.
    fn number(&self, cursor: Option<&str>) -> Option<u32> {
        let Some(cursor) = cursor else { return Some(1) };
        match self.cursors {
            Cursors::Constant => (cursor == CONSTANT).then_some(1),
            Cursors::ConstantMovingOn => (cursor == CONSTANT).then_some(self.last + 1),
            Cursors::Empty if cursor.is_empty() => Some(2),
            Cursors::Numbered | Cursors::Empty | Cursors::Cycle { .. } | Cursors::Endless => {
                cursor.strip_prefix("page-")?.parse().ok().filter(|&number| number > 0)
            }
        }
    }

    fn next(&self, number: u32) -> Option<String> {
        let more = self.first_of(number + 1) < self.tools.len();
        match self.cursors {
            Cursors::Numbered => more.then(|| format!("page-{}", number + 1)),
            Cursors::Empty if number == 1 => more.then(String::new),
            Cursors::Empty => more.then(|| format!("page-{}", number + 1)),
            Cursors::Constant => Some(CONSTANT.to_owned()),
            Cursors::ConstantMovingOn => more.then(|| CONSTANT.to_owned()),
            Cursors::Cycle { pages } => Some(format!("page-{}", number % pages.max(1) + 1)),
            Cursors::Endless => Some(format!("page-{}", number + 1)),
        }
    }

    fn definitions(&self, number: u32) -> Vec<Value> {
        let mut tools = self.tools.definitions(self.first_of(number), self.page_size);
        if self.cursors == Cursors::Endless {
            let invented = Tools::new().with_numbered(format!("invented_{number}_"), self.page_size);
            tools.extend(invented.definitions(0, self.page_size - tools.len()));
        }
        tools
    }

    fn first_of(&self, number: u32) -> usize {
        self.page_size.saturating_mul(number as usize - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four() -> Scenario {
        Scenario::new().tools(Tools::new().with_numbered("t", 4)).page_size(2)
    }

    /// The names on the first pages and the cursor that each hands out, at most `pages` of them.
    fn walk(scenario: &Scenario, pages: usize) -> (Vec<String>, Vec<Option<String>>) {
        let mut lister = Lister::new(scenario);
        let (mut names, mut cursors) = (Vec::new(), Vec::<Option<String>>::new());
        while cursors.len() < pages && cursors.last() != Some(&None) {
            let cursor = cursors.last().cloned().flatten();
            let Page::Tools { tools, next, .. } = lister.page(cursor.as_deref()) else {
                panic!("{cursor:?}")
            };
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            cursors.push(next);
        }
        (names, cursors)
    }

    #[test]
    fn every_kind_of_cursor_leads_where_it_says() {
        let all = "t0 t1 t2 t3";
        #[rustfmt::skip]
        let rows = [
            (Cursors::Numbered,           all,           vec![Some("page-2"), None]),
            (Cursors::Empty,              all,           vec![Some(""), None]),
            (Cursors::Constant,           "t0 t1 t0 t1", vec![Some("again"), Some("again")]),
            (Cursors::ConstantMovingOn,   all,           vec![Some("again"), None]),
            (Cursors::Cycle { pages: 2 }, all,           vec![Some("page-2"), Some("page-1")]),
            (Cursors::Endless,            all,           vec![Some("page-2"), Some("page-3")]),
        ];
        for (cursors, names, handed_out) in rows {
            let (seen, next) = walk(&four().cursors(cursors), 2);
            let next: Vec<_> = next.iter().map(Option::as_deref).collect();
            assert_eq!((seen.join(" ").as_str(), next), (names, handed_out), "{cursors:?}");
        }
    }

    #[test]
    fn an_endless_list_never_repeats_a_name() {
        let (names, _) = walk(&four().cursors(Cursors::Endless), 50);
        assert_eq!(names.len(), 100);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 100);
    }

    #[test]
    fn a_page_that_fails_once_is_there_at_the_second_request() {
        let mut lister = Lister::new(&four().on_page(2, PageFault::FailOnce));
        assert_eq!(lister.page(Some("page-2")), Page::Fails);
        assert!(matches!(lister.page(Some("page-2")), Page::Tools { next: None, .. }));
    }

    #[test]
    fn a_cursor_that_was_never_handed_out_is_refused() {
        for cursor in ["", "again", "page-0", "page-x"] {
            assert_eq!(Lister::new(&four()).page(Some(cursor)), Page::UnknownCursor, "{cursor:?}");
        }
    }
}
