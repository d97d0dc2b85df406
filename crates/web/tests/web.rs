//! `http.*` with a server of this test, compared with the returns of real Salt
//! 3008.5 for one that answers alike (`web/`).
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use halite_call::{Module, Registry};
use halite_recorded::Machine;
use serde_json::{Value as Json, json};

static EXEC: &[&[Module]] = &[halite_core_modules::MODULES, halite_web::MODULES];
static STATES: &[&[Module]] = &[halite_web::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

const AGENT: &str = concat!("Halite/", env!("CARGO_PKG_VERSION"), " http.query()");

/// Answers one request.
fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let [method, target, _] = words.as_slice() else {
        return Ok(());
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let get = |name: &str| {
        let found = headers.iter().find(|(known, _)| known == name);
        found.map_or("None", |(_, value)| value.as_str())
    };
    let mut data = vec![0; get("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut data)?;
    let (mut status, mut kind, mut more) = ("200 OK", "text/plain", "");
    let body = match target.split('?').next().unwrap_or_default() {
        "/json" | "/yaml" | "/bad" | "/500" => match target.as_str() {
            "/yaml" => {
                kind = "application/yaml";
                "a: [1, x]\n".to_owned()
            }
            target => {
                kind = "application/json";
                if target == "/500" {
                    status = "500 Internal Server Error";
                }
                let bodies = [
                    ("/json", "{\"a\": [1, true, null]}"),
                    ("/500", "{\"e\": 1}"),
                ];
                let found = bodies.iter().find(|(known, _)| *known == target);
                found.map_or("nope", |(_, body)| *body).to_owned()
            }
        },
        "/404" => {
            status = "404 Not Found";
            "missing".to_owned()
        }
        "/304" => {
            status = "304 Not Modified";
            String::new()
        }
        "/to" | "/loop" => {
            status = "302 Found";
            more = match target.as_str() {
                "/to" => "Location: /echo\r\n",
                _ => "Location: /loop\r\n",
            };
            String::new()
        }
        "/head" => {
            more = "X-One: 1\r\nx-two-b: 2\r\nX-One: 3\r\n";
            "h".to_owned()
        }
        _ => format!(
            "{method} {target} {}|{}|{}|{}|{}",
            String::from_utf8_lossy(&data),
            get("x-a"),
            get("authorization"),
            get("content-type"),
            get("user-agent"),
        ),
    };
    let head = format!(
        "HTTP/1.0 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {}\r\n\r\n",
        body.len()
    );
    (&stream).write_all(head.as_bytes())?;
    if method != "HEAD" && status != "304 Not Modified" {
        (&stream).write_all(body.as_bytes())?;
    }
    Ok(())
}

/// Starts a server that ends with the process; its address.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // One that hangs up early is no failure of the server.
            let _ = answer(stream);
        }
    });
    address
}

/// A port at which nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

#[test]
fn answers_are_those_of_salt() {
    let (url, nobody) = (server(), nobody());
    let scenario = json!({"grains": {}, "shims": [], "opts": {"http_request_timeout": 20}});
    let machine = Machine::new(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims"),
        &scenario,
        &REGISTRY,
    );
    let recorded: Vec<Json> = serde_json::from_str(include_str!("web/http.json")).unwrap();
    let mut wrong = Vec::new();
    for (at, theirs) in recorded.iter().enumerate() {
        let fill = |json: &Json| -> Json {
            let text = json.to_string().replace("@URL@", &url);
            let text = text.replace("http://127.0.0.78:1/", &nobody);
            serde_json::from_str(&text.replace("@AGENT@", AGENT)).unwrap()
        };
        let path = theirs["path"].as_str().unwrap();
        let asked = match path.strip_prefix('/') {
            Some(_) => format!("{url}{path}"),
            None => nobody.clone(),
        };
        let call = if theirs["kind"] == "state" {
            let mut args = theirs["args"].clone();
            args["name"] = asked.into();
            json!({"state": theirs["fun"], "args": args, "test": theirs["test"]})
        } else {
            json!({"fun": theirs["fun"], "args": [asked], "kwargs": theirs["args"]})
        };
        let (ours, theirs) = (machine.play(&call)["ret"].clone(), fill(&theirs["ret"]));
        if ours != theirs {
            wrong.push(format!("{at} {call}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_test_url_is_asked_in_place_of_the_real_one() {
    let (url, nobody) = (server(), nobody());
    let scenario = json!({"grains": {}, "shims": []});
    let machine = Machine::new(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims"),
        &scenario,
        &REGISTRY,
    );
    let call = json!({"state": "http.query", "test": true, "args": {
        "name": nobody, "status": 200, "test_url": format!("{url}/head")}});
    let ret = machine.play(&call)["ret"].clone();
    assert_eq!(ret["data"]["body"], "h");
    assert_eq!(ret["result"], Json::Null);
    let comment = format!("Status 200 was found. (TEST MODE, TEST URL WAS: {url}/head)");
    assert_eq!(ret["comment"], comment);
}

/// A server that says who somebody is must not send the question, or the
/// answer, elsewhere.
#[test]
fn redirections_are_the_answer_where_they_are_not_to_be_followed() {
    let url = server();
    let scenario = json!({"grains": {}, "shims": []});
    let machine = Machine::new(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims"),
        &scenario,
        &REGISTRY,
    );
    let status = |kwargs: Json| {
        let call = json!({"fun": "http.query", "args": [format!("{url}/to")], "kwargs": kwargs});
        machine.play(&call)["ret"]["status"].clone()
    };
    assert_eq!(status(json!({"status": true})), 200);
    assert_eq!(
        status(json!({"status": true, "follow_redirects": false})),
        302
    );
}

#[test]
fn what_is_not_supported_is_an_error() {
    let scenario = json!({"grains": {}, "shims": []});
    let machine = Machine::new(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims"),
        &scenario,
        &REGISTRY,
    );
    for (kwargs, class) in [
        (json!({"formdata": true}), "CommandExecutionError"),
        (
            json!({"header_dict": {"X": "a\r\nb: c"}}),
            "CommandExecutionError",
        ),
        (
            json!({"data_file": "/nonexistent/x"}),
            "FileNotFoundError: [Errno 2]",
        ),
    ] {
        let call = json!({"fun": "http.query", "args": [nobody()], "kwargs": kwargs});
        let ret = machine.play(&call)["ret"].clone();
        let said = ret.as_str().unwrap_or_default();
        assert!(said.starts_with(&format!("EXC {class}")), "{call}: {ret}");
    }
    for kwargs in [json!({}), json!({"backend": "requests"})] {
        let call = json!({"fun": "http.query", "args": [nobody()], "kwargs": kwargs});
        let ret = machine.play(&call)["ret"].clone();
        let raised = ret.as_str().unwrap_or_default();
        assert_eq!(
            raised.starts_with("EXC ConnectionError: "),
            kwargs.get("backend").is_some(),
            "{call}: {ret}"
        );
        assert_eq!(ret["error"].is_string(), raised.is_empty(), "{call}: {ret}");
    }
    for url in ["ftp://127.0.0.1/x", "/etc/hostname", "nonsense"] {
        let ret = machine.play(&json!({"fun": "http.query", "args": [url]}))["ret"].clone();
        let want = format!("EXC ValueError: Unsupported url scheme: {url}");
        assert_eq!(ret, want, "{url}");
    }
}
