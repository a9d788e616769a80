use mcp_tool::mcp_transport::{Cursor, RawTool, ToolPage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Listing, ListingEnd};

/// A `tools/list` result that was saved to a file.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The listing.
    pub listing: Listing,
    /// The line on which each tool begins, counted from 1, in the order of the listing.
    pub lines: Vec<usize>,
}

/// Why a file is no saved list. Quotes nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// It is no JSON.
    #[error("{line}:{column}: this is not JSON")]
    NotJson {
        /// Where, counted from 1.
        line: usize,
        /// Where in it, in bytes, counted from 1.
        column: usize,
    },
    /// It is something else.
    #[error(
        "there are no tools in it: save the result of tools/list, {{\"tools\": […]}}, the whole answer, or \
         the array of the tools"
    )]
    NoList,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    next_cursor: Option<String>,
}

impl Saved {
    /// Reads the result of `tools/list`, a JSON-RPC answer that holds it, or the bare array of tools.
    ///
    /// # Errors
    ///
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, SavedError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole: &RawValue = serde_json::from_str(text).map_err(|error| SavedError::NotJson {
            line: error.line().max(1),
            column: error.column().max(1),
        })?;
        let result = object::<Response<'_>>(whole).map_or(whole, |response| response.result);
        let listed = object(result).or_else(|| {
            let tools = serde_json::from_str(result.get()).ok()?;
            Some(Listed { tools, next_cursor: None })
        });
        let Listed { tools, next_cursor } = listed.ok_or(SavedError::NoList)?;
        let lines = lines(text, &tools);
        let end = if next_cursor.is_some() { ListingEnd::NotFollowed } else { ListingEnd::LastPage };
        let tools = tools.into_iter().map(|tool| RawTool::new(tool.to_owned())).collect();
        let page = ToolPage { tools, next: next_cursor.map(Cursor::new) };
        Ok(Self { listing: Listing::new(vec![page], end), lines })
    }
}

/// An object of this form. A derived struct would take an array for its fields, too.
fn object<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    value.get().starts_with('{').then(|| serde_json::from_str(value.get()).ok())?
}

/// The line on which each part of the text begins; the parts come in the text's order.
fn lines(text: &str, parts: &[&RawValue]) -> Vec<usize> {
    let (mut line, mut counted) = (1, 0);
    let begins = |part: &RawValue| (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    parts
        .iter()
        .map(|part| {
            let until = begins(part).clamp(counted, text.len());
            line += text.as_bytes()[counted..until].iter().filter(|byte| **byte == b'\n').count();
            counted = until;
            line
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_an_answer_and_an_array_are_lists_and_each_tool_knows_its_line() {
        let tools = "[{\"name\": \"a\"},\n {\"name\": \"b\"}, {\"name\": \"c\"}]";
        for text in [
            format!("\u{feff}{{\"tools\":\n {tools}, \"_meta\": {{}}}}"),
            format!("{{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {{\"tools\":\n {tools}}}}}"),
            format!("\n {tools}"),
        ] {
            let saved = Saved::parse(&text).unwrap();
            assert_eq!((saved.listing.tools().count(), &saved.lines[..]), (3, &[2, 3, 3][..]), "{text}");
            assert_eq!(saved.listing.end(), ListingEnd::LastPage);
        }
        let alone = Saved::parse(r#"[{"name": "a"}]"#).unwrap();
        assert_eq!(alone.listing.tools().map(|tool| tool.json()).collect::<Vec<_>>(), [r#"{"name": "a"}"#]);
        let first = Saved::parse(r#"{"tools": [], "nextCursor": "x"}"#).unwrap();
        assert_eq!(first.listing.end(), ListingEnd::NotFollowed);
    }

    #[test]
    fn anything_else_is_none_and_is_not_quoted() {
        for text in
            ["{}", "5", "\"secret\"", "{\"tools\": {}}", "{\"result\": {}}", "{\"error\": {\"code\": 1}}"]
        {
            assert_eq!(Saved::parse(text).unwrap_err(), SavedError::NoList, "{text}");
        }
        assert_eq!(Saved::parse("[\n secret]").unwrap_err().to_string(), "2:2: this is not JSON");
    }
}
