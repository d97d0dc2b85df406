//! Streams of events that nobody reads: their cost in the API's memory.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Kind, START, until};
use halite_test_support::http;
use serde_json::json;

use crate::http::events;
use crate::served::Served;

/// So many of each kind.
const STREAMS: usize = 16;

/// Bytes that fill up an event; the API takes no request of more than a mebibyte.
const FILLING: usize = 900_000;

/// Events that are fired: 90 MB.
const EVENTS: usize = 100;

/// What the documentation says is kept, in KiB.
const KEPT_KIB: u64 = 32 * 1024;

/// The same for each stream.
const STREAM_KIB: u64 = 48;

/// For the event that is on its way, in the forms that it has there, and for what the
/// allocator has not given back.
const SLACK_KIB: u64 = 20 * 1024;

/// The key of the example in RFC 6455, and what answers it.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPTED: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// Parts of a frame's first byte.
const LAST: u8 = 0x80;
const OPCODE: u8 = 0x0f;
const CONTINUED: u8 = 0;
const TEXT: u8 = 1;
const PONG: u8 = 10;

/// A client's text and its ping, each in a masked frame.
const READY: [u8; 11] = [0x81, 0x85, 0, 0, 0, 0, b'r', b'e', b'a', b'd', b'y'];
const PING: [u8; 6] = [0x89, 0x80, 0, 0, 0, 0];

/// A websocket that has said that it is ready.
fn websocket(at: SocketAddr, session: &str) -> Result<BufReader<TcpStream>> {
    websocket_over(TcpStream::connect(at)?, at, session)
}

/// The same over a connection.
pub(crate) fn websocket_over(
    connection: TcpStream,
    at: SocketAddr,
    session: &str,
) -> Result<BufReader<TcpStream>> {
    let asked = format!(
        "GET /ws/{session} HTTP/1.1\r\nHost: {at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n"
    );
    let mut stream = BufReader::new(connection);
    stream.get_ref().set_read_timeout(Some(START))?;
    stream.get_mut().write_all(asked.as_bytes())?;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(stream.read_line(&mut head)? > 0, "no websocket: {head}");
    }
    ensure!(head.starts_with("HTTP/1.1 101 "), "{head}");
    ensure!(
        http::header(&head, "sec-websocket-accept") == Some(ACCEPTED),
        "{head}"
    );
    stream.get_mut().write_all(&READY)?;
    // What answers this has heard that.
    stream.get_mut().write_all(&PING)?;
    while frame(&mut stream)?.0 & OPCODE != PONG {}
    Ok(stream)
}

/// A chunk of an answer whose length was not known when it began.
fn chunk(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    while line.trim().is_empty() {
        line.clear();
        ensure!(stream.read_line(&mut line)? > 0, "the stream has ended");
    }
    let length = usize::from_str_radix(line.trim(), 16).with_context(|| line.clone())?;
    let mut chunk = vec![0; length];
    stream.read_exact(&mut chunk)?;
    Ok(String::from_utf8(chunk)?)
}

/// A frame that an API has sent: its first byte, and its payload.
fn frame(socket: &mut BufReader<TcpStream>) -> Result<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    socket.read_exact(&mut head)?;
    let length = match head[1] {
        126 => {
            let mut length = [0; 2];
            socket.read_exact(&mut length)?;
            u64::from(u16::from_be_bytes(length))
        }
        127 => {
            let mut length = [0; 8];
            socket.read_exact(&mut length)?;
            u64::from_be_bytes(length)
        }
        small => u64::from(small),
    };
    let mut payload = Vec::new();
    socket.by_ref().take(length).read_to_end(&mut payload)?;
    Ok((head[0], payload))
}

/// The text of the next message, and of how many frames it is.
fn message(socket: &mut BufReader<TcpStream>) -> Result<(String, usize)> {
    let (mut text, mut frames) = (Vec::new(), 0);
    loop {
        let (first, payload) = frame(socket)?;
        if ![TEXT, CONTINUED].contains(&(first & OPCODE)) {
            continue;
        }
        frames += 1;
        text.extend(payload);
        if first & LAST != 0 {
            return Ok((String::from_utf8(text)?, frames));
        }
    }
}

fn fire(served: &Served, session: &str, number: usize) -> Result<()> {
    let filling = json!({ "x": "x".repeat(FILLING) });
    let said = served.post(&format!("/hook/n/{number}"), session, &filling)?;
    ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    Ok(())
}

#[test]
fn what_nobody_reads_costs_bounded_memory() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let (at, session) = (served.address(), served.session("alice")?.to_owned());
    // What the program needs for large events at all.
    for number in 0..4 {
        fire(&served, &session, number)?;
    }
    let before = served.own_kib()?;
    let (mut silent, mut sockets) = (Vec::new(), Vec::new());
    for _ in 0..STREAMS {
        silent.push(events(at, &session)?);
        sockets.push(websocket(at, &session)?);
    }
    let mut most = before;
    for number in 0..EVENTS {
        fire(&served, &session, number)?;
        most = most.max(served.own_kib()?);
    }
    let kept = served.metric("halite_api_events_kept_bytes")?;
    let grown = most.saturating_sub(before);
    println!("{kept} bytes are kept, and the API has grown by {grown} KiB");
    ensure!(
        kept > 30e6,
        "only {kept} bytes were kept: the test shows nothing"
    );
    let bound = KEPT_KIB + 2 * STREAMS as u64 * STREAM_KIB + SLACK_KIB;
    ensure!(grown < bound, "grown by {grown} KiB, more than {bound}");
    // When nobody listens any more, nothing is kept.
    drop((silent, sockets));
    until("nothing is kept", START, || {
        fire(&served, &session, 0)?;
        Ok((served.metric("halite_api_events_kept_bytes")? == 0.0).then_some(()))
    })
}

#[test]
fn a_websocket_that_was_too_slow_is_told_what_it_has_lost() -> Result<()> {
    // Of events that are sent in one piece: a stream that is within a larger one ends.
    const SMALL: usize = 12_000;
    let served = Served::start(Kind::Ours)?;
    let (at, session) = (served.address(), served.session("alice")?.to_owned());
    let mut socket = websocket(at, &session)?;
    let filling = json!({ "x": "x".repeat(SMALL) });
    // What lies between is in the buffers of the connection.
    let enough = 2 * usize::try_from(KEPT_KIB * 1024)? / SMALL;
    for number in 0..enough {
        let said = served.post(&format!("/hook/n/{number}"), &session, &filling)?;
        ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    }
    // It goes on after that, and may lose more of what is still fired meanwhile.
    let mut was_told = false;
    for number in 0..enough {
        let (text, _) = message(&mut socket).with_context(|| format!("message {number}"))?;
        match text.strip_prefix(": ") {
            Some(told) => {
                let is_note = told.contains(" events were dropped") && told.ends_with("\n\n");
                ensure!(is_note, "{text}");
                was_told = true;
            }
            None => {
                ensure!(text.starts_with("data: "), "{text}");
                if was_told {
                    let lost = served.metric("halite_api_events_dropped_total{page=\"ws\"}")?;
                    ensure!(lost > 0.0, "monitoring does not see it");
                    return Ok(());
                }
            }
        }
    }
    anyhow::bail!("it was told of nothing")
}

#[test]
fn a_large_event_reaches_streams_of_both_kinds_whole() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let (at, session) = (served.address(), served.session("alice")?.to_owned());
    let mut stream = events(at, &session)?;
    let mut socket = websocket(at, &session)?;
    fire(&served, &session, 1)?;
    let filling = "x".repeat(FILLING);
    let tag = "salt/netapi/hook/n/1";
    let told = format!("tag: {tag}\ndata: ");
    let mut record = String::new();
    while !record.contains(&told) || !record.ends_with("\n\n") {
        record = record.split_off(record.find(&told).unwrap_or_default());
        record.push_str(&chunk(&mut stream)?);
    }
    ensure!(record.contains(&filling), "{} bytes", record.len());
    let (text, frames) = message(&mut socket)?;
    ensure!(
        text.contains(tag) && text.contains(&filling),
        "{} bytes",
        text.len()
    );
    ensure!(text.starts_with("data: {") && text.ends_with("}\n\n"));
    ensure!(frames > FILLING / (16 * 1024), "{frames} frames");
    Ok(())
}
