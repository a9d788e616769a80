use std::{io, pin::Pin};

use rmcp::model::RequestId;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// A line longer than this is dropped; the call that it answers fails with a definite error.
pub(super) const DEFAULT_MAX_LINE: usize = 16 * 1024 * 1024;
/// What is kept of a dropped line to find out whose answer it was.
const EDGE: usize = 512;
/// A buffer that grew beyond this for one line is given back.
const KEEP: usize = 256 * 1024;

/// Reads lines with a bound on their length. Cancel-safe: what was read stays here.
pub(super) struct Lines {
    reader: BufReader<Pin<Box<dyn AsyncRead + Send>>>,
    line: Vec<u8>,
    max: usize,
    /// The end of an oversized line, while it is being dropped.
    dropping: Option<Vec<u8>>,
    taken: bool,
}

pub(super) enum Line {
    /// A line is in [`Lines::line`].
    Whole,
    /// A line was dropped. If it was an answer, this is the request's id.
    Oversized(Option<RequestId>),
    /// The stream ended; what came without a newline is in [`Lines::line`].
    End,
}

impl Lines {
    pub(super) fn new(reader: Pin<Box<dyn AsyncRead + Send>>, max: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            max,
            dropping: None,
            taken: false,
        }
    }

    /// The line that [`next`](Self::next) returned, without its newline.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    pub(super) async fn next(&mut self) -> Line {
        if std::mem::take(&mut self.taken) {
            self.line.clear();
            self.line.shrink_to(KEEP);
        }
        loop {
            let available = match self.reader.fill_buf().await {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A stream that cannot be read has ended.
                Err(_) => &[],
            };
            if available.is_empty() {
                self.taken = true;
                return Line::End;
            }
            let newline = memchr::memchr(b'\n', available);
            let (text, consumed) = match newline {
                Some(at) => (&available[..at], at + 1),
                None => (available, available.len()),
            };
            if let Some(tail) = &mut self.dropping {
                keep_end(tail, text);
            } else if self.line.len() + text.len() > self.max {
                let mut tail = Vec::new();
                keep_end(&mut tail, text);
                self.line.truncate(EDGE);
                if self.line.len() < EDGE {
                    let missing = (EDGE - self.line.len()).min(text.len());
                    self.line.extend_from_slice(&text[..missing]);
                }
                self.dropping = Some(tail);
            } else {
                self.line.extend_from_slice(text);
            }
            self.reader.consume(consumed);
            if newline.is_some() {
                self.taken = true;
                return match self.dropping.take() {
                    Some(tail) => Line::Oversized(answered_id(&self.line, &tail)),
                    None => Line::Whole,
                };
            }
        }
    }
}

fn keep_end(tail: &mut Vec<u8>, text: &[u8]) {
    tail.extend_from_slice(&text[text.len().saturating_sub(EDGE)..]);
    let surplus = tail.len().saturating_sub(EDGE);
    tail.drain(..surplus);
}

/// Finds the request's id at either end of an answer that was too long to keep.
///
/// Servers write it before the result or, as some SDKs do, after it. A wrong guess could only fail a
/// call with an error that is never replayed, but none is made where the text leaves a doubt.
fn answered_id(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    match before_long_member(head)? {
        Some(id) => Some(id),
        None => id_at_the_end(tail),
    }
}

/// Walks the members of the outermost object up to the one that is no scalar, or that is cut. None when
/// that is not an answer's: a request of the server has ids of its own. Else the id, if it came before.
fn before_long_member(head: &[u8]) -> Option<Option<RequestId>> {
    let mut rest = head.trim_ascii_start().strip_prefix(b"{")?;
    let mut id = None;
    loop {
        let (key, after_key) = scalar(rest)?;
        let value = after_key.trim_ascii_start().strip_prefix(b":")?;
        let Some((text, after_value)) = scalar(value) else {
            return matches!(key, br#""result""# | br#""error""#).then_some(id);
        };
        match key {
            br#""method""# => return None,
            br#""id""# => id = Some(serde_json::from_slice(text).ok()?),
            _ => {}
        }
        rest = after_value.trim_ascii_start().strip_prefix(b",")?;
    }
}

/// The text ends with `"id": <scalar>`, perhaps `"jsonrpc": "2.0"`, and the closing brace.
fn id_at_the_end(tail: &[u8]) -> Option<RequestId> {
    let at = tail.windows(4).rposition(|window| window == b"\"id\"")?;
    let value = tail[at + 4..].trim_ascii_start().strip_prefix(b":")?;
    let (text, after) = scalar(value)?;
    let after: Vec<u8> = after.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    matches!(after.as_slice(), b"}" | b",\"jsonrpc\":\"2.0\"}").then(|| serde_json::from_slice(text).ok())?
}

/// The string, number or word at the beginning of the text, and what follows it.
fn scalar(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = match text.first()? {
        b'"' => {
            let mut escaped = false;
            let close = text[1..].iter().position(|byte| {
                let closes = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                closes
            })?;
            close + 2
        }
        b'{' | b'[' => return None,
        _ => text.iter().position(|byte| b",}:".contains(byte) || byte.is_ascii_whitespace())?,
    };
    Some(text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines_of(text: &'static str, max: usize) -> Vec<String> {
        let mut lines = Lines::new(Box::pin(text.as_bytes()), max);
        let mut seen = Vec::new();
        loop {
            match lines.next().await {
                Line::Whole => seen.push(String::from_utf8_lossy(lines.line()).into_owned()),
                Line::Oversized(id) => seen.push(format!("oversized {id:?}")),
                Line::End => {
                    seen.push(format!("end {}", String::from_utf8_lossy(lines.line())));
                    return seen;
                }
            }
        }
    }

    #[tokio::test]
    async fn lines_end_with_the_rest_of_the_stream() {
        assert_eq!(lines_of("a\n\nbc", 10).await, ["a", "", "end bc"]);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_dropped_and_the_next_one_lives() {
        assert_eq!(
            lines_of("0123456789\n0123456789x\nok\n", 10).await,
            ["0123456789", "oversized None", "ok", "end "]
        );
    }

    #[test]
    fn the_id_of_a_dropped_answer_is_found_at_either_end() {
        let id =
            |head: &str, tail: &str| answered_id(head.as_bytes(), tail.as_bytes()).map(|id| id.to_string());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"result":{"content"#, r#"zzz"}]}}"#), Some("7".into()));
        assert_eq!(id(r#"{ "id" : "seven", "result":{"#, ""), Some("seven".into()));
        assert_eq!(id(r#"{"result":{"content":["#, r#"zz"}]},"jsonrpc":"2.0","id":12}"#), Some("12".into()));
        assert_eq!(id(r#"{"result":{"content":["#, r#"zz"}]},"id":12,"jsonrpc":"2.0"}"#), Some("12".into()));
        assert_eq!(
            id(r#"{"result":{"content":["#, r#""id":12}}}"#),
            None,
            "an id inside the result is not the answer's"
        );
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"error":"zzz"#, "zzz"), Some("7".into()), "a cut string");
        assert_eq!(id(r#"{"jsonrpc":"2.0","method":"x\"y","params":{"id":3"#, r#"zz"},"id":3}"#), None);
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"#, "zzz"), None, "a request's");
        assert_eq!(id(r#"{"params":{"zz"#, r#"zz"},"method":"x","id":3}"#), None);
        assert_eq!(id("garbage", "garbage"), None);
    }
}
