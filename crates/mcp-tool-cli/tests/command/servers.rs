//! Servers that are none: one clear line, exit code 3, and nothing left running.

#[cfg(feature = "rustls")]
use std::io::Write;

use mcp_tool_cli::fault_server::{Http, Response, Startup};

use crate::bench::{Bench, Page, Ran, put};

fn shell(bench: &Bench, options: &str, script: &str) -> Ran {
    let line = format!("call put --output json {options} -- sh -c").replace("  ", " ");
    bench.run(line.split(' ').chain([script]))
}

fn assert_not_made(told: &Ran, reason: &str, line: &str) {
    assert_eq!(told.code, Some(3), "{told:?}");
    let json = told.json();
    assert_eq!((&json["outcome"], &json["reason"]), (&"not_executed".into(), &reason.into()));
    let expected = format!("mcp-tool: the tool was not executed ({reason}): {line}\n");
    assert_eq!(told.stderr, expected);
}

const ENDED: &str = "the server ended before its handshake was complete: run it by hand, or run this again with -v to \
                     see what it wrote to its standard error";
const NO_MCP: &str = "the server does not speak a known version of MCP: check that the command is an MCP server that \
                      uses standard input and output";
#[test]
fn a_command_that_prints_something_and_exits_is_no_server() {
    let bench = Bench::new();
    assert_not_made(&shell(&bench, "", "echo hello"), "unavailable", ENDED);
    assert_not_made(&shell(&bench, "", "exit 3"), "unavailable", ENDED);
}

#[test]
fn a_command_that_stays_silent_or_repeats_what_it_hears_is_no_server() {
    let late = "within its time the server has not completed its handshake and listed its tools";
    let bench = Bench::new();
    for script in ["exec sleep 600", "echo '<html>'; exec sleep 600", "while read l; do echo no; done"] {
        assert_not_made(&shell(&bench, "--timeout 500ms", script), "deadline", late);
    }
    assert_not_made(&shell(&bench, "", "exec cat"), "unavailable", NO_MCP);
}

#[test]
fn an_answer_with_the_wrong_id_or_without_sense_is_no_handshake() {
    let bench = Bench::new();
    for answer in
        [r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#, r#"{"jsonrpc":"2.0","id":0,"result":{"a":1}}"#]
    {
        let script = format!("read line; echo '{answer}'; exec sleep 600");
        assert_not_made(&shell(&bench, "", &script), "unavailable", NO_MCP);
    }
}

#[test]
fn a_banner_before_the_handshake_is_no_obstacle() {
    let bench = Bench::new();
    let told = bench.run_on("call put", &put().startup(Startup::Banner { line: "welcome!".into() }));
    assert_eq!((told.code, &*told.stdout, &*told.stderr), (Some(0), "put ran\n", ""));
}

#[test]
fn what_a_server_wrote_to_its_standard_error_is_shown_only_when_asked_for() {
    let bench = Bench::new();
    let script = "echo 'no such module' >&2; exit 1";
    assert!(!shell(&bench, "", script).stderr.contains("no such module"));
    let told = shell(&bench, "-v", script);
    assert!(told.stderr.contains("mcp-tool: the server wrote: no such module\n"), "{told:?}");
}

#[test]
fn a_page_is_no_server() {
    let html = "<html><body>It works!</body></html>";
    let no_page = "the server does not speak a known version of MCP: check that the URL is that of its MCP endpoint, \
                   not of a page, and whether it wants an authorisation (--header)";
    let no_path = "the server answered with an HTTP error (status 500): check that the path of the URL is that of its \
                   MCP endpoint";
    let rows = [
        (Page::new("200 OK", "text/html", html), no_page),
        (Page::new("404 Not Found", "text/html", html), no_page),
        (Page::new("500 Internal Server Error", "text/html", html), no_path),
        (Page::new("401 Unauthorized", "text/plain", "who are you?"), no_page),
    ];
    for (page, line) in rows {
        let told = Bench::new().run(["call", "put", "--output", "json", "--url", &page.url]);
        assert_not_made(&told, "unavailable", line);
    }
}

#[test]
fn a_port_where_nobody_listens_is_no_server() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", free.local_addr().unwrap());
    drop(free);
    let told = Bench::new().run(["call", "put", "--output", "json", "--url", &url]);
    let line = "the server cannot be reached: see that it is running, and check host and port of its URL";
    assert_not_made(&told, "unavailable", line);
}

#[test]
#[cfg(feature = "rustls")]
fn a_port_that_speaks_no_tls_is_told_from_one_where_nobody_listens() {
    let plain = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in plain.incoming() {
            socket.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        }
    });
    let told = Bench::new().run(["call", "put", "--output", "json", "--url", &url]);
    let line = "the server's certificate is not accepted, or it does not speak TLS: check the scheme, host and port of \
                its URL; SSL_CERT_FILE may name a file with further certificate authorities";
    assert_not_made(&told, "unavailable", line);
}

#[test]
fn a_server_that_wants_an_authorisation_says_so() {
    let bench = Bench::new();
    let server = bench.http_server(&put().http(Http::new().handshake(Response::unauthorised())));
    let told = bench.run(["call", "put", "--output", "json", "--url", &server.url]);
    let line = "the server asks for another authorisation: give it with --header 'Authorization: …', or as `headers` \
                of a configured server";
    assert_not_made(&told, "unavailable", line);
    server.end();
}
