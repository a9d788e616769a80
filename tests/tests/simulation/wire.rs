//! What the bytes towards the server say, and when they left.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::world::{Event, Record};

/// One request that was accepted to the end of its JSON text.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) life: usize,
    pub(crate) id: i64,
    pub(crate) call: Option<ToolCall>,
    /// Where in the record its first byte was accepted, and where its last.
    pub(crate) first: usize,
    pub(crate) last: usize,
}

#[derive(Debug)]
pub(crate) struct ToolCall {
    pub(crate) key: usize,
    pub(crate) name: String,
    /// As they stood on the wire.
    pub(crate) arguments: String,
}

/// A part of a frame of a call, whole or not: where in the record its bytes were accepted.
pub(crate) struct Stretch {
    pub(crate) key: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// All that was accepted, in the order of the lives and of the bytes.
pub(crate) struct Wire {
    pub(crate) requests: Vec<Request>,
    pub(crate) stretches: Vec<Stretch>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    id: Option<i64>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments {
    key: usize,
}

impl Wire {
    pub(crate) fn of(record: &Record) -> Self {
        let mut wire = Self { requests: Vec::new(), stretches: Vec::new() };
        for (life, bytes) in record.bytes.iter().enumerate() {
            // From which byte on, and where in the record.
            let mut accepted = Vec::new();
            for (index, (_, event)) in record.events.iter().enumerate() {
                match event {
                    Event::Accepted { life: of, from, .. } if *of == life => accepted.push((*from, index)),
                    _ => {}
                }
            }
            let index_of = |byte: usize| accepted[accepted.partition_point(|(from, _)| *from <= byte) - 1].1;
            let mut from = 0;
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                let (first, last) = (index_of(from), index_of(from + line.len() - 1));
                from += line.len();
                wire.line(life, line, first, last);
            }
        }
        wire
    }

    fn line(&mut self, life: usize, line: &[u8], first: usize, last: usize) {
        let is_call = line.windows(12).any(|part| part == b"\"tools/call\"");
        if let Some(key) = is_call.then(|| key_in(line)).flatten() {
            self.stretches.push(Stretch { key, first, last });
        }
        let Ok(frame) = serde_json::from_slice::<Frame<'_>>(line) else { return };
        let (Some(id), Some(method)) = (frame.id, frame.method) else { return };
        let call = (method == "tools/call").then(|| {
            let params = frame.params.as_ref();
            let arguments = params.and_then(|params| params.arguments).map_or("null", RawValue::get);
            ToolCall {
                key: serde_json::from_str::<Arguments>(arguments).expect("every call has a key").key,
                name: params.and_then(|params| params.name).unwrap_or_default().to_owned(),
                arguments: arguments.to_owned(),
            }
        });
        self.requests.push(Request { life, id, call, first, last });
    }

    /// The whole requests of one call, in the order in which they were whole.
    pub(crate) fn of_key(&self, key: usize) -> Vec<&Request> {
        let is_its = |request: &&Request| request.call.as_ref().is_some_and(|call| call.key == key);
        let mut requests: Vec<_> = self.requests.iter().filter(is_its).collect();
        requests.sort_by_key(|request| request.last);
        requests
    }

    /// The request with this id on this connection.
    pub(crate) fn request(&self, life: usize, id: i64) -> Option<&Request> {
        self.requests.iter().find(|request| (request.life, request.id) == (life, id))
    }
}

/// The key of a frame that may have been cut.
fn key_in(line: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(line);
    let (_, after) = text.split_once("\"key\":")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
