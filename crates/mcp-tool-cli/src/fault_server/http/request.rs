//! HTTP requests, as far as an MCP client writes them.
use std::{
    collections::HashMap,
    io::{self, BufRead, Read},
};

/// A request that was read completely.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Request {
    pub(super) method: String,
    headers: HashMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The next request on a connection, none at its end.
    pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let method = line.split(' ').next().unwrap_or_default().to_owned();
        let mut request = Self { method, ..Self::default() };
        loop {
            line.clear();
            if input.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some((name, value)) = line.split_once(':') else { break };
            let former = request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            if former.is_some() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a header came twice"));
            }
        }
        if let Some(length) = request.header("content-length") {
            let length = length.parse().map_err(io::Error::other)?;
            input.take(length).read_to_end(&mut request.body)?;
            if (request.body.len() as u64) < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Some(request))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The bearer token that it shows.
    pub(super) fn token(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_each_other_on_one_connection() {
        let mut input =
            &b"POST /mcp HTTP/1.1\r\nContent-LENGTH: 2\r\nA:  b \r\n\r\n{}GET / HTTP/1.1\r\n\r\n"[..];
        let post = Request::read(&mut input).unwrap().unwrap();
        assert_eq!((&*post.method, &*post.body, post.header("a")), ("POST", &b"{}"[..], Some("b")));
        assert_eq!(Request::read(&mut input).unwrap().unwrap().method, "GET");
        assert_eq!(Request::read(&mut input).unwrap(), None);
    }

    #[test]
    fn a_request_with_a_header_twice_is_none() {
        assert!(Request::read(&mut &b"GET / HTTP/1.1\r\nA: b\r\na: b\r\n\r\n"[..]).is_err());
    }

    #[test]
    fn a_request_that_breaks_off_was_never_read() {
        for cut in ["POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{"] {
            assert!(Request::read(&mut cut.as_bytes()).is_err(), "{cut:?}");
        }
    }
}
