use std::{io, ops::Range, pin::Pin};

use rmcp::model::RequestId;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A line longer than this is dropped; the call that it answers fails with a definite error.
pub(super) const DEFAULT_MAX_LINE: usize = 16 * 1024 * 1024;
/// What is kept of a dropped line, at each end, to find out whose answer it was.
const EDGE: usize = 512;
/// The room of a buffer at first, which is what a connection with little traffic holds.
const FIRST: usize = 8 * 1024;
/// Up to where the room of one that was full is doubled, as much as a pipe of Linux holds. Only an
/// unfinished line is given more.
const BUSY: usize = 64 * 1024;
/// What is kept at most of a buffer that grew for one line.
const KEEP: usize = 256 * 1024;

/// Reads lines with a bound on their length. Cancel-safe: what was read stays here.
pub(super) struct Lines {
    reader: Pin<Box<dyn AsyncRead + Send>>,
    /// The line that was returned, and what was read after it.
    buffer: Vec<u8>,
    line: Range<usize>,
    /// Where the next line begins.
    next: usize,
    /// Up to where it has no newline.
    searched: usize,
    max: usize,
    /// The ends of an oversized line, while it is being dropped.
    dropping: Option<Ends>,
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
        let buffer = Vec::with_capacity(FIRST);
        Self { reader, buffer, line: 0..0, next: 0, searched: 0, max, dropping: None }
    }

    /// The line that [`next`](Self::next) returned, without its newline.
    pub(super) fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    pub(super) async fn next(&mut self) -> Line {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                self.line = self.next..self.searched + at;
                self.next = self.line.end + 1;
                self.searched = self.next;
                let is_too_long = self.line.len() > self.max;
                let dropped = self.dropping.take().or_else(|| is_too_long.then(Ends::default));
                return match dropped {
                    Some(dropped) => Line::Oversized(dropped.and(self.line()).answered_id()),
                    None => Line::Whole,
                };
            }
            let text = &self.buffer[self.next..];
            if self.dropping.is_some() || text.len() > self.max {
                self.dropping = Some(self.dropping.take().unwrap_or_default().and(text));
                self.next = self.buffer.len();
            }
            self.make_room();
            match self.reader.read_buf(&mut self.buffer).await {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A stream that cannot be read has ended.
                Ok(0) | Err(_) => {
                    self.line = self.next..self.buffer.len();
                    self.next = self.line.end;
                    self.searched = self.next;
                    return Line::End;
                }
                Ok(_) => {}
            }
        }
    }

    /// Before more is read: lets go of the lines that were returned, and grows where nothing is free.
    fn make_room(&mut self) {
        let was_full = self.buffer.len() == self.buffer.capacity();
        self.line = 0..0;
        self.buffer.drain(..self.next);
        self.next = 0;
        self.searched = self.buffer.len();
        if self.buffer.len() < KEEP {
            self.buffer.shrink_to(KEEP);
        }
        if was_full {
            let (unfinished, doubled) = (self.buffer.len(), self.buffer.capacity() * 2);
            let wanted = if unfinished > BUSY / 2 { doubled } else { doubled.min(BUSY) };
            // No further than to where the line is known to be too long.
            let room = wanted.min(self.max.saturating_add(BUSY));
            self.buffer.reserve_exact(room - unfinished);
        }
    }
}

/// The two ends of a text that is not kept.
#[derive(Default)]
struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Ends {
    fn and(mut self, text: &[u8]) -> Self {
        let missing = (EDGE - self.head.len()).min(text.len());
        self.head.extend_from_slice(&text[..missing]);
        keep_end(&mut self.tail, text);
        self
    }

    fn answered_id(&self) -> Option<RequestId> {
        answered_id(&self.head, &self.tail)
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
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll},
    };

    use tokio::io::{AsyncWriteExt, ReadBuf};

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

    #[tokio::test]
    async fn lines_of_any_length_come_as_they_were_sent_and_their_room_is_given_back() {
        let lengths = [0, 1, 511, 512, FIRST - 1, FIRST, FIRST + 1, BUSY, KEEP, 3 * KEEP, 0, 7];
        let sent: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
        let (ours, mut theirs) = tokio::io::duplex(1000);
        let all = sent.join("\n") + "\n";
        let writing = tokio::spawn(async move { theirs.write_all(all.as_bytes()).await });
        let mut lines = Lines::new(Box::pin(ours), DEFAULT_MAX_LINE);
        assert_eq!(lines.buffer.capacity(), FIRST);
        for sent in sent {
            assert!(matches!(lines.next().await, Line::Whole));
            assert_eq!(lines.line().len(), sent.len());
            assert!(lines.line().iter().all(|byte| *byte == b'x'));
        }
        writing.await.unwrap().unwrap();
        assert!(matches!(lines.next().await, Line::End));
        assert!(lines.line().is_empty() && lines.buffer.capacity() <= KEEP);
    }

    /// What comes of a text that arrives byte by byte.
    async fn byte_by_byte(text: &str, max: usize) -> Vec<String> {
        let (ours, mut theirs) = tokio::io::duplex(1);
        let text = text.to_owned();
        let writing = tokio::spawn(async move { theirs.write_all(text.as_bytes()).await });
        let mut lines = Lines::new(Box::pin(ours), max);
        let mut seen = Vec::new();
        loop {
            match lines.next().await {
                Line::Whole => seen.push(format!("{} bytes", lines.line().len())),
                Line::Oversized(id) => seen.push(format!("oversized {:?}", id.map(|id| id.to_string()))),
                Line::End => break,
            }
        }
        writing.await.unwrap().unwrap();
        seen
    }

    #[tokio::test]
    async fn a_line_that_comes_byte_by_byte_is_dropped_over_the_limit_and_not_at_it() {
        let filling = "x".repeat(2 * EDGE);
        let head = format!("{{\"id\":7,\"result\":{{\"text\":\"{filling}\"}}}}\n");
        let tail = format!("{{\"result\":{{\"text\":\"{filling}\"}},\"id\":8}}\n");
        let length = head.len() - 1;
        assert_eq!(byte_by_byte(&head, length).await, [format!("{length} bytes")]);
        for max in [10, EDGE + 1, length - 1] {
            assert_eq!(byte_by_byte(&head, max).await, [r#"oversized Some("7")"#], "a limit of {max}");
            assert_eq!(byte_by_byte(&tail, max).await, [r#"oversized Some("8")"#], "a limit of {max}");
        }
    }

    #[tokio::test]
    async fn an_interrupted_read_is_made_again_and_one_that_fails_ends_the_stream() {
        struct Fails(Vec<io::ErrorKind>);
        impl AsyncRead for Fails {
            fn poll_read(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                into: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                match self.0.pop() {
                    Some(kind) => return Poll::Ready(Err(kind.into())),
                    None => into.put_slice(b"a line\n"),
                }
                Poll::Ready(Ok(()))
            }
        }
        let mut interrupted = Lines::new(Box::pin(Fails(vec![io::ErrorKind::Interrupted; 2])), 10);
        assert!(matches!(interrupted.next().await, Line::Whole));
        let mut failed = Lines::new(Box::pin(Fails(vec![io::ErrorKind::ConnectionReset])), 10);
        assert!(matches!(failed.next().await, Line::End));
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_not_read_far_beyond_it() {
        let mut lines = Lines::new(Box::pin(tokio::io::repeat(b'x').take(8 * 1024 * 1024)), 1024 * 1024 + 1);
        assert!(matches!(lines.next().await, Line::End));
        assert!(lines.buffer.capacity() <= 1024 * 1024 + 1 + BUSY);
    }

    #[tokio::test]
    async fn a_long_line_takes_few_reads() {
        struct Counts(Arc<AtomicUsize>);
        impl AsyncRead for Counts {
            fn poll_read(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
                into: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.0.fetch_add(1, Ordering::Relaxed);
                into.initialize_unfilled().fill(b'x');
                into.advance(into.remaining());
                Poll::Ready(Ok(()))
            }
        }
        let reads = Arc::new(AtomicUsize::new(0));
        let endless = Counts(reads.clone()).take(1024 * 1024);
        let mut lines = Lines::new(Box::pin(endless), DEFAULT_MAX_LINE);
        assert!(matches!(lines.next().await, Line::End));
        assert_eq!(lines.line().len(), 1024 * 1024);
        assert!(reads.load(Ordering::Relaxed) <= 10, "{reads:?}");
    }

    #[test]
    fn no_more_is_kept_of_a_dropped_line_than_its_ends() {
        let ends = Ends::default().and(&[b'x'; 300]).and(&[b'x'; 2 * EDGE]).and(b"x");
        assert_eq!((ends.head.len(), ends.tail.len()), (EDGE, EDGE));
    }

    #[tokio::test]
    async fn whoever_fills_the_buffer_is_given_more_at_a_time() {
        let text = "a line\n".repeat(BUSY);
        let mut lines = Lines::new(Box::pin(io::Cursor::new(text)), 10);
        while matches!(lines.next().await, Line::Whole) {
            assert_eq!(lines.line(), b"a line");
        }
        assert_eq!(lines.buffer.capacity(), BUSY);
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
        assert_eq!(id(r#"{"id":3,"method":"x","result":{"#, ""), None, "neither a request nor an answer");
        assert_eq!(id(r#"{"id":"a,b","result":{"#, ""), Some("a,b".into()));
        assert_eq!(id(r#"{"id":"a\",b","result":{"#, ""), Some("a\",b".into()));
        assert_eq!(id("garbage", "garbage"), None);
    }
}
