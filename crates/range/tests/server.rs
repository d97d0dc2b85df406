//! A range server in this process, and other servers that are no range servers.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use halite_range::limits::{ANSWER_BYTES_MAX, EXPRESSION_BYTES_MAX};
use halite_range::{RangeError, RangeServer};

/// Gives one answer to each connection, and tells what was asked.
fn serve(answers: Vec<Vec<u8>>) -> (RangeServer, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            let _ = tell.send(line.trim_end().to_owned());
            // Whoever has enough of it closes.
            let _ = stream.write_all(&answer);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    (RangeServer::new(address), told)
}

fn ok(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[test]
fn an_expression_is_one_question_and_its_answer_is_kept() {
    let (server, asked) = serve(vec![ok("web1\nweb2\n"), ok("")]);
    assert_eq!(server.expand("%web:ALL,x").unwrap(), ["web1", "web2"]);
    assert_eq!(
        asked.recv().unwrap(),
        "GET /range/list?%25web%3AALL%2Cx HTTP/1.1"
    );
    assert_eq!(server.expand("%web:ALL,x").unwrap(), ["web1", "web2"]);
    assert!(asked.try_recv().is_err(), "it was asked twice");
    assert!(server.expand("%none").unwrap().is_empty());
}

#[test]
fn what_a_server_refuses_is_said_and_asked_again() {
    let refusal = b"HTTP/1.1 200 OK\r\nRangeException: NOCLUSTERDEF: %x\r\n\r\n".to_vec();
    let (server, _asked) = serve(vec![refusal, ok("web1\n")]);
    let error = server.expand("%x").unwrap_err();
    assert_eq!(error.to_string(), "the range server says: NOCLUSTERDEF: %x");
    assert_eq!(server.expand("%x").unwrap(), ["web1"]);
}

#[test]
fn nothing_is_read_without_an_end() {
    let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    endless.resize(usize::try_from(ANSWER_BYTES_MAX).unwrap() + 1024, b'\n');
    let (server, _asked) = serve(vec![endless]);
    let error = server.expand("%x").unwrap_err();
    assert!(matches!(error, RangeError::TooLarge), "{error}");
    let long = "x".repeat(EXPRESSION_BYTES_MAX + 1);
    let error = server.expand(&long).unwrap_err();
    assert!(matches!(error, RangeError::Expression), "{error}");
}

#[test]
fn nobody_there_is_said_at_once_and_left_alone() {
    let listener = TcpListener::bind("127.83.71.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = RangeServer::new(address.to_string());
    let first = server.expand("%x").unwrap_err();
    assert!(matches!(first, RangeError::Unreachable { .. }), "{first}");
    // Somebody is there now, and is not asked yet.
    let _listener = TcpListener::bind(address).unwrap();
    let second = server.expand("%x").unwrap_err();
    assert_eq!(first.to_string(), second.to_string());
}

#[test]
fn whatever_else_comes_is_an_error() {
    for (answer, text) in [
        (
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
            "the range server answers with status 302",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na\nb",
            "the range server's answer is not complete",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n",
            "the range server's answer is not complete",
        ),
        (
            "HTTP/1.1 200 OK\r\n\r\n<html> <p>",
            "the range server's answer is not a list of hosts",
        ),
        ("SSH-2.0-x\r\n", "the range server does not speak HTTP"),
        ("", "the range server does not speak HTTP"),
    ] {
        let (server, _asked) = serve(vec![answer.as_bytes().to_vec()]);
        let error = server.expand("%x").unwrap_err();
        assert_eq!(error.to_string(), text, "{answer}");
    }
}
