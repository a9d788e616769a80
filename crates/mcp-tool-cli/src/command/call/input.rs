use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use mcp_tool::rmcp::model::JsonObject;
use serde_json::{Value, error::Category};

use crate::command::problem::Problem;

/// The tool's arguments. Default: an empty object.
#[derive(Args)]
pub(crate) struct InputOptions {
    /// The arguments, a JSON object
    #[arg(long, value_name = "JSON", conflicts_with_all = ["args_file", "arg"])]
    args: Option<String>,
    /// A file with the arguments, a JSON object; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "arg")]
    args_file: Option<PathBuf>,
    /// One argument; the value is JSON when it parses as JSON, else a string; repeatable
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
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            if arguments.insert(key.to_owned(), value).is_some() {
                return Err(Problem::new(format!("--arg {key} is given more than once")));
            }
        }
        Ok(arguments)
    }
}

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
        Ok(Value::Object(arguments)) => Ok(arguments),
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
    }

    #[test]
    fn arguments_are_a_json_object_and_what_is_wrong_is_said_without_quoting_them() {
        let read =
            |json: &str| object(json, "--args").map(Value::Object).map_err(|problem| problem.to_string());
        assert_eq!(read(r#"{"a": 1}"#), Ok(json!({"a": 1})));
        assert_eq!(read("[1]"), Err("--args: the arguments are not a JSON object".into()));
        assert_eq!(read("{\n\"a\": secret}"), Err("--args:2:6: this is not JSON".into()));
        assert_eq!(read("{\"a\": "), Err("--args:1:6: the JSON ends too early".into()));
    }
}
