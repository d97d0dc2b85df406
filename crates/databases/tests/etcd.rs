//! `etcd.*` with the recorded answers of a real server (3.4)
//! (`etcd/exchanges.jsonl`), compared with the returns of real Salt 3008.5 beside
//! such a server (`etcd/calls.jsonl`; `ours` and `why` for intended differences).
//!
//! `HALITE_ETCD=<host:port>` asks a fresh server instead, and writes its answers.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use halite_call::{Module, Registry};
use halite_recorded::Machine;
use serde_json::{Value as Json, json};

static EXEC: &[&[Module]] = &[
    halite_core_modules::MODULES,
    halite_databases::MODULES,
    halite_web::MODULES,
];
static STATES: &[&[Module]] = &[halite_databases::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

/// A request or an answer: its first line and its body.
fn message(stream: &TcpStream) -> std::io::Result<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    let mut is_chunked = false;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("transfer-encoding") => {
                is_chunked = value == "chunked";
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        length = usize::from_str_radix(size.trim(), 16).unwrap_or_default();
    }
    body.resize(length, 0);
    reader.read_exact(&mut body)?;
    let first = first.trim_end().to_owned();
    Ok((first, String::from_utf8(body).unwrap()))
}

/// What a server answers to a request; nothing when it waits for a change.
fn ask(server: &str, request: &str, body: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(server).unwrap();
    let limit = std::time::Duration::from_millis(500);
    stream.set_read_timeout(Some(limit)).unwrap();
    let kind = "application/x-www-form-urlencoded";
    write!(
        stream,
        "{request}\r\nHost: {server}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    message(&stream).ok().filter(|(first, _)| !first.is_empty())
}

struct Exchanges {
    recorded: Vec<Json>,
    server: Option<String>,
}

impl Exchanges {
    fn answer(&mut self, request: &str, body: &str) -> Option<(String, String)> {
        if let Some(server) = &self.server {
            let answer = ask(server, request, body);
            self.recorded.push(json!([request, body, answer]));
            return answer;
        }
        let is_same = |known: &Json| known[0] == json!(request) && known[1] == json!(body);
        let at = self.recorded.iter().position(is_same);
        let known = self
            .recorded
            .remove(at.unwrap_or_else(|| panic!("{request} {body}")));
        let text = |at: usize| known[2][at].as_str().unwrap().to_owned();
        known[2].is_array().then(|| (text(0), text(1)))
    }
}

/// Serves the exchanges, and keeps those open that wait for a change.
fn serve(exchanges: &Arc<Mutex<Exchanges>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let exchanges = Arc::clone(exchanges);
    std::thread::spawn(move || {
        let mut waiting = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (request, body) = message(&stream).unwrap();
            match exchanges.lock().unwrap().answer(&request, &body) {
                Some((first, body)) => write!(
                    stream,
                    "{first}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )
                .unwrap(),
                None => waiting.push(stream),
            }
        }
    });
    port
}

#[test]
fn keys_are_as_with_salt() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/etcd");
    let lines = |name: &str| -> Vec<Json> {
        let text = std::fs::read_to_string(format!("{here}/{name}")).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let server = std::env::var("HALITE_ETCD").ok();
    let recorded = match &server {
        Some(_) => Vec::new(),
        None => lines("exchanges.jsonl"),
    };
    let exchanges = Arc::new(Mutex::new(Exchanges { recorded, server }));
    let port = serve(&exchanges);
    // A port that nobody listens on.
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let scenario = json!({"grains": {"os": "Debian"}, "shims": [], "opts": {
        "my_etcd": {"etcd.host": "127.0.0.1", "etcd.port": port},
        "my_dead": {"etcd.host": "127.0.0.1", "etcd.port": dead.port()},
        "my_third": {"etcd.host": "127.0.0.1", "etcd.require_v2": false},
    }});
    let shims = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shims");
    let mut machine = Machine::new(shims, &scenario, &REGISTRY);
    machine.minion.remove_opt("__host_path__");
    let (mut same, mut wrong) = (0, Vec::new());
    for line in lines("calls.jsonl") {
        let ours = machine.play(&line["call"])["ret"].clone();
        let expected = line.get("ours").unwrap_or_else(|| &line["salt"]);
        if ours == *expected {
            same += 1;
        } else {
            wrong.push(format!(
                "{}\n  ours {ours}\n  salt {expected}",
                line["call"]
            ));
        }
    }
    let exchanges = exchanges.lock().unwrap();
    if exchanges.server.is_some() {
        let mut out = std::fs::File::create(format!("{here}/exchanges.jsonl")).unwrap();
        for exchange in &exchanges.recorded {
            writeln!(out, "{exchange}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{same} same\n{}", wrong.join("\n"));
}
