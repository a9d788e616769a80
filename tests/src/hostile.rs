//! What the hostile peers say, over stdio and HTTP alike: JSON texts, some of them no sane ones.

use serde_json::{Value, json};

/// Deeper than any stack could follow.
pub const DEEP: usize = 100_000;

/// The result of `initialize`.
pub fn initialized() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "hostile", "version": "1"},
    })
}

/// A tool that may be run twice.
pub fn put() -> Value {
    declared(true)
}

/// The tool, as one that may be run twice or as one that may not.
pub fn declared(idempotent: bool) -> Value {
    json!({
        "name": "put",
        "inputSchema": {"type": "object"},
        "annotations": {"idempotentHint": idempotent},
    })
}

/// An answer with this text.
pub fn answer(id: &Value, text: &Value) -> String {
    let result = json!({"content": [{"type": "text", "text": text}]});
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// A ping of the server's own.
pub fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#)
}

/// The tools are others now.
pub fn list_changed() -> &'static str {
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#
}

/// The messages that come without end instead of an answer to this call, by their number.
pub fn flood(what: &str, call: &Value) -> Option<Box<dyn Fn(u64) -> String + Send>> {
    let call = call.clone();
    Some(match what {
        "pings" => Box::new(|number| ping(&number.to_string())),
        "unreadable_requests" => {
            Box::new(|number| format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"ping","params":7}}"#))
        }
        "questions" => Box::new(|number| question(&number.to_string(), "sure?")),
        "large_questions" => {
            let text = "?".repeat(1 << 20);
            Box::new(move |number| question(&number.to_string(), &text))
        }
        "questions_taken_back" => Box::new(|number| match number % 2 {
            0 => question(&(number / 2).to_string(), "sure?"),
            _ => {
                let params = json!({"requestId": (number / 2).to_string()});
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()
            }
        }),
        "samplings" => Box::new(|number| {
            let messages = [json!({"role": "user", "content": {"type": "text", "text": "say"}})];
            let params = json!({"messages": messages, "maxTokens": 1});
            json!({"jsonrpc": "2.0", "id": number.to_string(), "method": "sampling/createMessage", "params": params})
                .to_string()
        }),
        "notifications" => Box::new(|number| {
            let params = json!({"level": "info", "data": number});
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}).to_string()
        }),
        "list_changed" => Box::new(|_| list_changed().to_owned()),
        "progress_of_nobody" => Box::new(|number| {
            let params = json!({"progressToken": "nobody", "progress": number});
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string()
        }),
        "answers_to_nobody" => Box::new(|number| answer(&json!(number + 1_000_000), &json!("x"))),
        "answers_with_odd_ids" => Box::new(|number| answer(&json!(format!("odd {number}")), &json!("x"))),
        "answers_again_and_again" => Box::new(move |_| answer(&call, &json!("x"))),
        "banners" => Box::new(|number| format!("listening on port {number}")),
        "empty_lines" => Box::new(|_| String::new()),
        _ => return None,
    })
}

/// What is sent once, in place of an answer.
pub fn messages(what: &str, call: &Value) -> Vec<String> {
    let params = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"data":{params},"level":"info"}}}}"#)
    };
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{call},"result":{result}}}"#);
    match what {
        "deep_answer" => vec![result(&format!(r#"{{"content":[],"structuredContent":{}}}"#, deep()))],
        "deep_error" => {
            let error = format!(r#"{{"code":1,"message":"m","data":{}}}"#, deep());
            vec![format!(r#"{{"jsonrpc":"2.0","id":{call},"error":{error}}}"#)]
        }
        // The call is answered after all that.
        "deep_everything" => vec![
            deep(),
            params("notifications/message", &deep()),
            params("notifications/progress", &deep()),
            params("notifications/cancelled", &deep()),
            format!(r#"{{"jsonrpc":"2.0","id":"d","method":"elicitation/create","params":{}}}"#, deep()),
            format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, deep()),
            format!(r#"{{"jsonrpc":"2.0","id":77,"result":{}}}"#, deep()),
            format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, deep()),
            answer(call, &json!("done")),
        ],
        "bracket_answer" => vec![result(&format!(r#"{{"content":[],"structuredContent":{}}}"#, wide()))],
        // The call is answered after all that.
        "bracket_everything" => vec![
            params("notifications/message", &wide()),
            params("notifications/of/the/future", &wide()),
            format!(r#"{{"jsonrpc":"2.0","id":"w","method":"of/the/future","params":{}}}"#, wide()),
            format!(r#"{{"jsonrpc":"2.0","id":77,"result":{{"content":{}}}}}"#, wide()),
            answer(call, &json!("done")),
        ],
        _ => Vec::new(),
    }
}

/// The page of tools that answers this listing, as text; none for the usual one.
pub fn listing(what: &str, number: u64, request: &Value) -> Option<String> {
    let schema = r#"{"type":"object"}"#;
    let page = |tools: Vec<String>| format!(r#"{{"tools":[{}]}}"#, tools.join(","));
    let tool = |name: &str, schema: &str| format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#);
    Some(match what {
        "deep_tools" => page(vec![
            tool("put", schema),
            tool("deep", &format!(r#"{{"type":"object","x":{}}}"#, deep())),
            format!(r#"{{"name":"deep_meta","inputSchema":{schema},"_meta":{}}}"#, deep()),
            format!(r#"{{"name":{},"inputSchema":{schema}}}"#, deep()),
            deep(),
        ]),
        "many_tools" => page((0..100_000).map(|number| tool(&format!("tool_{number}"), schema)).collect()),
        "too_many_tools" => {
            page((0..100_001).map(|number| tool(&format!("tool_{number}"), schema)).collect())
        }
        "long_names" => {
            let long = "n".repeat(1 << 20);
            let mut tools = vec![tool("put", schema)];
            tools.extend((0..12).map(|number| tool(&format!("{long}{number}"), schema)));
            page(tools)
        }
        "long_cursors" => {
            let (tool, long) = (tool(&format!("tool_{number}"), schema), "c".repeat(10_000_000));
            format!(r#"{{"tools":[{tool}],"nextCursor":"{number}{long}"}}"#)
        }
        "pages_without_end" => {
            format!(r#"{{"tools":[{}],"nextCursor":"{number}"}}"#, tool(&format!("tool_{number}"), schema))
        }
        "empty_pages_without_end" => format!(r#"{{"tools":[],"nextCursor":"{number}"}}"#),
        "one_page_without_end" => {
            let cursor = request["params"]["cursor"].as_str().unwrap_or("again");
            format!(r#"{{"tools":[{}],"nextCursor":"{cursor}"}}"#, tool("put", schema))
        }
        "wide_tools" => page(vec![
            tool("put", schema),
            format!(r#"{{"name":"wide","inputSchema":{{"type":"object","x":{}}}}}"#, wide()),
        ]),
        _ => return None,
    })
}

fn question(id: &str, message: &str) -> String {
    let params = json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}});
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}).to_string()
}

/// Brackets in brackets.
fn deep() -> String {
    "[".repeat(DEEP) + &"]".repeat(DEEP)
}

/// Millions of values in few bytes: what is read into a tree grows most.
fn wide() -> String {
    format!("[{}[]]", "[],".repeat(4 << 20))
}
