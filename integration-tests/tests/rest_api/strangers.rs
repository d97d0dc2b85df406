//! What somebody without a session can take from others.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Result, ensure};
use halite_integration_tests::Kind;

use crate::http::ask;
use crate::served::Served;

/// As many large bodies as one address may send at once.
const OF_ONE_ADDRESS: usize = 40;

/// Begins to send a large body: behind a proxy on this machine that names the caller.
fn begin_large(at: SocketAddr, caller: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(at)?;
    let head = format!(
        "POST /login HTTP/1.1\r\nHost: {at}\r\nX-Forwarded-For: {caller}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000000\r\n\
         Expect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    // It has its room when it is asked for the body.
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    ensure!(line.starts_with("HTTP/1.1 100"), "{line}");
    Ok(stream)
}

#[test]
fn one_address_leaves_room_for_large_bodies_of_others() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let at = served.address();
    let _sending: Vec<_> = (0..OF_ONE_ADDRESS)
        .map(|_| begin_large(at, "192.0.2.1"))
        .collect::<Result<_>>()?;
    let body = format!(r#"{{"username": "{}"}}"#, "x".repeat(20_000));
    let said = |caller| {
        let headers = [
            ("Content-Type", "application/json"),
            ("X-Forwarded-For", caller),
        ];
        ask(at, "POST", "/login", &headers, &body)
    };
    let refused = said("192.0.2.1")?;
    ensure!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    let judged = said("192.0.2.2")?;
    ensure!(judged.starts_with("HTTP/1.1 401"), "{judged}");
    Ok(())
}
