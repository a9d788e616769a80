//! Complete HTTP responses.
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{self, Write};

/// A response of any kind, with the right `Content-Length`.
///
/// ```
/// use mcp_tool_cli::fault_server::Response;
///
/// let overloaded = Response::new(503).header("Retry-After", "1").text("text/plain", "later");
/// assert_eq!(overloaded.status(), 503);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: Body,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    #[default]
    Empty,
    Text(String),
    Answer,
    RpcError {
        code: i64,
        message: String,
        to: Addressee,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Addressee {
    Request,
    Nobody,
}

impl Response {
    /// A response without a body.
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Body::Empty }
    }

    /// 401 with a challenge.
    pub fn unauthorised() -> Self {
        Self::new(401).header("WWW-Authenticate", r#"Bearer realm="fault", error="invalid_token""#)
    }

    /// 429 that asks for a pause.
    pub fn too_many_requests(retry_after_secs: u32) -> Self {
        Self::new(429).header("Retry-After", retry_after_secs.to_string())
    }

    /// A redirect to another path of the same server, where a client that follows it is served as here.
    pub fn redirect(status: u16) -> Self {
        Self::new(status).header("Location", "/elsewhere")
    }

    /// The HTML page of a proxy that knows no such route.
    pub fn not_found_by_proxy() -> Self {
        let page = "<html><head><title>404 Not Found</title></head><body>nginx</body></html>\n";
        Self::new(404).header("Server", "nginx").text("text/html; charset=utf-8", page)
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// A body of this type. Default: none.
    pub fn text(mut self, content_type: &str, text: impl Into<String>) -> Self {
        self.body = Body::Text(text.into());
        self.header("Content-Type", content_type)
    }

    /// The answer that the request deserves, as a body that claims to be of another type.
    pub fn answer_as(mut self, content_type: &str) -> Self {
        self.body = Body::Answer;
        self.header("Content-Type", content_type)
    }

    /// A JSON-RPC error with the request's id.
    pub fn rpc_error(self, code: i64, message: impl Into<String>) -> Self {
        self.error(code, message.into(), Addressee::Request)
    }

    /// A JSON-RPC error with `null` for an id.
    pub fn rpc_error_without_id(self, code: i64, message: impl Into<String>) -> Self {
        self.error(code, message.into(), Addressee::Nobody)
    }

    fn error(mut self, code: i64, message: String, to: Addressee) -> Self {
        self.body = Body::RpcError { code, message, to };
        self.header("Content-Type", "application/json")
    }

    /// Its status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Writes it in reply to the request that deserves `answer`.
    pub(super) fn write(&self, out: impl Write, answer: &Value) -> io::Result<()> {
        let body = match &self.body {
            Body::Empty => String::new(),
            Body::Text(text) => text.clone(),
            Body::Answer => answer.to_string(),
            Body::RpcError { code, message, to } => {
                let id = match to {
                    Addressee::Request => &answer["id"],
                    Addressee::Nobody => &Value::Null,
                };
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
            }
        };
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let length = (self.status != 204).then_some(body.len());
        write_head(out, self.status, &headers, length, body.as_bytes())
    }
}

/// Writes a head and the bytes after it at once, so that a client never sees the one without the other.
pub(super) fn write_head(
    mut out: impl Write,
    status: u16,
    headers: &[(&str, &str)],
    content_length: Option<usize>,
    body: &[u8],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(length) = content_length {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    head.push_str("\r\n");
    out.write_all(&[head.as_bytes(), body].concat())
}

fn reason(status: u16) -> &'static str {
    match status {
        200..300 => "Fine",
        300..400 => "Elsewhere",
        400..500 => "Refused",
        _ => "Failed",
    }
}
