//! Many streams of events at once: none waits for another, and the API ends in time.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use halite_integration_tests::Kind;
use serde_json::json;

use crate::http::body;
use crate::served::Served;

const STREAMS: usize = 500;
const EVENTS: usize = 100;

/// How long all of them may take together, on a machine that does other things too.
const WITHIN: Duration = Duration::from_secs(30);

/// How long the API may take to end.
const END: Duration = Duration::from_secs(5);

/// What the data of each event is filled up with.
const FILLING: usize = 1000;

/// A stream that has begun.
fn stream(at: SocketAddr, session: &str) -> Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(WITHIN))?;
    let request = format!("GET /events HTTP/1.1\r\nHost: {at}\r\nX-Auth-Token: {session}\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("retry:") {
        line.clear();
        ensure!(stream.read_line(&mut line)? > 0, "the stream has not begun");
    }
    Ok(stream)
}

/// The numbers of the events that a stream tells until the last one, and when that
/// came.
fn hear_all(stream: BufReader<TcpStream>) -> JoinHandle<Result<(Vec<usize>, Instant)>> {
    thread::spawn(move || {
        let mut heard = Vec::new();
        for line in stream.lines() {
            let line = line.context("an event is missing")?;
            let Some(tag) = line.strip_prefix("tag: salt/netapi/hook/n/") else {
                continue;
            };
            heard.push(tag.parse()?);
            if heard.len() == EVENTS {
                return Ok((heard, Instant::now()));
            }
        }
        Err(anyhow!("a stream has ended"))
    })
}

#[test]
fn five_hundred_streams_hear_everything_and_end_in_time() -> Result<()> {
    let mut served = Served::start(Kind::Ours)?;
    let (at, session) = (served.address(), served.session("alice")?.to_owned());
    // One never reads.
    let silent = stream(at, &session)?;
    let mut hearing = Vec::new();
    for _ in 1..STREAMS {
        hearing.push(hear_all(stream(at, &session)?));
    }
    let filling = "x".repeat(FILLING);
    let begun = Instant::now();
    for number in 0..EVENTS {
        let said = served.post(
            &format!("/hook/n/{number}"),
            &session,
            &json!({ "x": filling }),
        )?;
        ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    }
    let fired = begun.elapsed();
    let mut last = Duration::ZERO;
    let all: Vec<usize> = (0..EVENTS).collect();
    for stream in hearing {
        let heard = stream.join().map_err(|_| anyhow!("a stream failed"))?;
        let (heard, at) = heard?;
        ensure!(heard == all, "{heard:?}");
        last = last.max(at.duration_since(begun));
    }
    ensure!(last < WITHIN, "the last event came after {last:?}");
    // Commands do not wait for the streams either.
    let ping = json!([{ "client": "local", "tgt": "web1", "fun": "test.ping" }]);
    let asked = Instant::now();
    let said = served.post("/", &session, &ping)?;
    ensure!(body(&said)?["return"][0]["web1"] == true, "{said}");
    let pinged = asked.elapsed();
    let ending = Instant::now();
    ensure!(served.end(END)? == 0, "the API did not end well");
    drop(silent);
    println!(
        "{EVENTS} events, {} streams: fired in {fired:?}, heard by all after {last:?}; a ping \
         {pinged:?}; the end {:?}",
        STREAMS - 1,
        ending.elapsed()
    );
    Ok(())
}
