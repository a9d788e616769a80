use rmcp::model::ServerJsonRpcMessage;

/// The most JSON values of a message that rmcp is given to read.
///
/// It reads a message several times over, into trees that take some sixty times the room of the text where
/// that is all brackets and commas; and what nobody here asked for must not cost that.
const MOST_VALUES: usize = 250_000;

/// A message for rmcp. None when it would understand it no more than we do, or when it holds so many values
/// that nobody should.
pub(crate) fn for_rmcp(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    if is_modest(text) { serde_json::from_slice(text).ok() } else { None }
}

/// Whether a JSON text holds no more values than rmcp is given.
pub(crate) fn is_modest(text: &[u8]) -> bool {
    // Each takes a byte, so most texts need no look.
    text.len() <= MOST_VALUES || values(text) <= MOST_VALUES
}

/// How many values begin in a JSON text, or a few more: each is the first of its kind, or follows a comma.
fn values(text: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' | b',' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_stands_in_a_string_is_none() {
        for (text, count) in [
            ("7", 1),
            ("[]", 2),
            (r#"{"a":1,"b":[1,2]}"#, 5),
            (r#""[[[,,,""#, 1),
            (r#""\"[[[""#, 1),
            (r#"["\\",[]]"#, 4),
            (r#"{"a\\\"":",[",",":1}"#, 3),
        ] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn a_message_of_more_values_than_anybody_should_read_is_not_read() {
        let of = |values: usize, value: &str| {
            let data = vec![value; values].join(",");
            let params = format!(r#"{{"level":"info","data":[{data}]}}"#);
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#)
        };
        assert!(for_rmcp(of(MOST_VALUES - 10, "1").as_bytes()).is_some());
        assert!(for_rmcp(of(MOST_VALUES + 10, "1").as_bytes()).is_none());
        assert!(for_rmcp(of(1, &format!("\"{}\"", ",".repeat(2 * MOST_VALUES))).as_bytes()).is_some());
    }
}
