use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use mcp_tool::rmcp::model::JsonObject;
use serde_json::{Value, error::Category};

use super::unique::repeated_key;
use crate::command::problem::Problem;

/// The tool's arguments. Default: an empty object.
#[derive(Args)]
pub(crate) struct InputOptions {
    /// The arguments, a JSON object
    #[arg(long, value_name = "JSON", conflicts_with_all = ["args_file", "arg"])]
    args: Option<String>,
    /// The same from a file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "arg")]
    args_file: Option<PathBuf>,
    /// One argument; repeatable
    ///
    /// The value is JSON when it parses as JSON, else a string: n=5 is a number.
    #[arg(long, value_name = "KEY=VALUE")]
    arg: Vec<String>,
}

impl InputOptions {
    pub(crate) fn read(&self) -> Result<JsonObject, Problem> {
        if let Some(json) = &self.args {
            return object(json, "--args");
        }
        if let Some(file) = &self.args_file {
            let (text, source) = read(file)?;
            return object(&text, &source);
        }
        let mut arguments = JsonObject::new();
        for given in &self.arg {
            let (key, value) =
                given.split_once('=').ok_or_else(|| Problem::new("an --arg is not of the form key=value"))?;
            let value = match serde_json::from_str(value) {
                Ok(_) if !keeps_integers(value) => {
                    return Err(Problem::new(format!(
                        "--arg {key}: an integer of that size would not be sent as it is: make it a string \
                         (--arg '{key}=\"…\"'), if the tool takes one"
                    )));
                }
                Ok(json) => match repeated_key(value) {
                    Some(inner) => {
                        return Err(Problem::new(format!("--arg {key}: the key `{inner}` {TWICE}")));
                    }
                    None => json,
                },
                Err(_) => Value::from(value),
            };
            if arguments.insert(key.to_owned(), value).is_some() {
                return Err(Problem::new(format!("--arg {key} is given more than once")));
            }
        }
        Ok(arguments)
    }
}

const TWICE: &str = "stands twice in its object: give it once";

fn read(file: &Path) -> Result<(String, String), Problem> {
    let (text, source) = if file == Path::new("-") {
        (io::read_to_string(io::stdin()), "standard input".to_owned())
    } else {
        (fs::read_to_string(file), file.display().to_string())
    };
    match text {
        Ok(text) => Ok((text, source)),
        Err(error) => Err(Problem::new(format!("{source}: {error}"))),
    }
}

fn object(json: &str, source: &str) -> Result<JsonObject, Problem> {
    match serde_json::from_str(json) {
        Ok(Value::Object(_)) if !keeps_integers(json) => Err(Problem::new(format!(
            "{source}: an integer among the arguments is so large that it would not be sent as it is: make it a \
             string, if the tool takes one"
        ))),
        Ok(Value::Object(arguments)) => match repeated_key(json) {
            Some(key) => Err(Problem::new(format!("{source}: the key `{key}` {TWICE}"))),
            None => Ok(arguments),
        },
        Ok(_) => Err(Problem::new(format!("{source}: the arguments are not a JSON object"))),
        Err(error) => {
            let what = match error.classify() {
                Category::Eof => "the JSON ends too early",
                _ => "this is not JSON",
            };
            Err(Problem::new(format!("{source}:{}:{}: {what}", error.line(), error.column())))
        }
    }
}

/// Whether every integer of this JSON text is sent as it stands there. One beyond 64 bits becomes the nearest
/// number of floating point, and so, as somebody's id, another one.
fn keeps_integers(json: &str) -> bool {
    let is_kept = |number: &str| {
        number.contains(['.', 'e', 'E']) || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
    };
    let mut rest = json;
    while let Some(at) = rest.find(|char: char| char == '"' || char == '-' || char.is_ascii_digit()) {
        rest = &rest[at..];
        let length = if rest.starts_with('"') {
            string_length(rest)
        } else {
            let length = rest.find(|char: char| !"+-.eE".contains(char) && !char.is_ascii_digit());
            let length = length.unwrap_or(rest.len());
            if !is_kept(&rest[..length]) {
                return false;
            }
            length
        };
        rest = &rest[length..];
    }
    true
}

/// How long the JSON string is that the text begins with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn given(arg: &[&str]) -> Result<Value, String> {
        let arg = arg.iter().map(|arg| arg.to_string()).collect();
        let read = InputOptions { args: None, args_file: None, arg }.read();
        read.map(Value::Object).map_err(|problem| problem.to_string())
    }

    #[test]
    fn the_value_of_an_argument_is_json_when_it_parses_as_json() {
        let arguments = ["a=1", "b=true", "c=[1,\"x\"]", "d=text", "e=\"5\"", "f=", "g=a=b", "h=null", "=k"];
        let expected = json!({"a": 1, "b": true, "c": [1, "x"], "d": "text", "e": "5", "f": "", "g": "a=b", "h": null, "": "k"});
        assert_eq!(given(&arguments), Ok(expected));
        assert_eq!(given(&[]), Ok(json!({})));
    }

    #[test]
    fn an_argument_without_a_name_or_given_twice_is_refused() {
        assert_eq!(given(&["secret"]), Err("an --arg is not of the form key=value".into()));
        assert_eq!(given(&["a=1", "a=2"]), Err("--arg a is given more than once".into()));
        let told = Err("--arg a: the key `b` stands twice in its object: give it once".into());
        assert_eq!(given(&["a={\"b\": 1, \"b\": 2}"]), told);
    }

    #[test]
    fn an_integer_that_would_become_another_is_refused() {
        let rows = [
            ("18446744073709551615", true),
            ("-9223372036854775808", true),
            ("18446744073709551616", false),
            ("-9223372036854775809", false),
            ("1e30", true),
            ("0.1000000000000000055511", true),
            (r#"{"a": "18446744073709551616", "b": ["\\"]}"#, true),
            (r#"{"a": "\"", "b": [1, 18446744073709551616]}"#, false),
        ];
        for (json, kept) in rows {
            assert_eq!(keeps_integers(json), kept, "{json}");
        }
        let told = given(&["id=18446744073709551616"]).unwrap_err();
        assert!(told.starts_with("--arg id: ") && !told.contains("18446"), "{told}");
        assert_eq!(given(&["id=\"18446744073709551616\""]), Ok(json!({ "id": "18446744073709551616" })));
        assert!(object(r#"{"id": 18446744073709551616}"#, "--args").is_err());
    }

    #[test]
    fn arguments_are_a_json_object_and_what_is_wrong_is_said_without_quoting_them() {
        let read =
            |json: &str| object(json, "--args").map(Value::Object).map_err(|problem| problem.to_string());
        assert_eq!(read(r#"{"a": 1}"#), Ok(json!({"a": 1})));
        let told = Err("--args: the key `a.b` stands twice in its object: give it once".into());
        assert_eq!(read(r#"{"a": {"b": 1, "b": 1}}"#), told);
        assert_eq!(read("[1]"), Err("--args: the arguments are not a JSON object".into()));
        assert_eq!(read("{\n\"a\": secret}"), Err("--args:2:6: this is not JSON".into()));
        assert_eq!(read("{\"a\": "), Err("--args:1:6: the JSON ends too early".into()));
    }
}
