//! Many streams of events at once: none waits for another, and the API ends in time.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use halite_integration_tests::{Kind, START, until};
use serde_json::json;

use crate::http::{ask, body, events};
use crate::served::Served;

const STREAMS: usize = 500;
const EVENTS: usize = 100;

/// How long all of them may take together, on a machine that does other things too.
const WITHIN: Duration = Duration::from_secs(30);

/// How long the API may take to end.
const END: Duration = Duration::from_secs(5);

/// What the data of each event is filled up with.
const FILLING: usize = 1000;

/// What a stream has told.
struct Heard {
    /// The numbers of the events.
    numbers: Vec<usize>,
    /// How many it says were dropped.
    dropped: usize,
    /// When the last event came.
    at: Instant,
}

/// Hears a stream until the event with this number.
fn hear_until(stream: BufReader<TcpStream>, last: usize) -> JoinHandle<Result<Heard>> {
    thread::spawn(move || {
        let (mut numbers, mut dropped) = (Vec::new(), 0);
        for line in stream.lines() {
            let line = line.context("an event is missing")?;
            if let Some(told) = line.strip_suffix(" events were dropped: this stream is too slow") {
                dropped += told.trim_start_matches(": ").parse::<usize>()?;
            }
            let Some(tag) = line.strip_prefix("tag: salt/netapi/hook/n/") else {
                continue;
            };
            numbers.push(tag.parse()?);
            if numbers.last() == Some(&last) {
                let at = Instant::now();
                return Ok(Heard {
                    numbers,
                    dropped,
                    at,
                });
            }
        }
        Err(anyhow!("a stream has ended"))
    })
}

/// When the last of these streams heard the last event; each has heard all of them.
fn check_all_heard(hearing: Vec<JoinHandle<Result<Heard>>>, all: &[usize]) -> Result<Instant> {
    let mut last = Instant::now();
    for stream in hearing {
        let heard = stream.join().map_err(|_| anyhow!("a stream failed"))??;
        ensure!(heard.numbers == all, "{:?}", heard.numbers);
        ensure!(heard.dropped == 0, "{} were dropped", heard.dropped);
        last = last.max(heard.at);
    }
    Ok(last)
}

/// Fires an event with each of these numbers.
fn fire(served: &Served, session: &str, numbers: &[usize], filling: usize) -> Result<()> {
    let filling = json!({ "x": "x".repeat(filling) });
    for number in numbers {
        let said = served.post(&format!("/hook/n/{number}"), session, &filling)?;
        ensure!(said.starts_with("HTTP/1.1 200"), "{said}");
    }
    Ok(())
}

/// As many streams as one user may have.
const OF_ONE_USER: usize = 512;

#[test]
fn one_user_leaves_streams_for_others() -> Result<()> {
    let served = Served::start(Kind::Ours)?;
    let at = served.address();
    let session = |user| served.session(user).map(str::to_owned);
    let (alice, bob) = (session("alice")?, session("bob")?);
    let open: Vec<_> = (0..OF_ONE_USER)
        .map(|_| events(at, &bob))
        .collect::<Result<_>>()?;
    let refused = |session: &str| -> Result<bool> {
        let said = ask(at, "HEAD", "/events", &[("X-Auth-Token", session)], "")?;
        Ok(said.starts_with("HTTP/1.1 503"))
    };
    ensure!(refused(&bob)?, "a user takes all streams");
    ensure!(!refused(&alice)?, "another user has none");
    drop(open);
    until("a stream that has ended leaves its place", START, || {
        Ok((!refused(&bob)?).then_some(()))
    })
}

#[test]
fn five_hundred_streams_hear_everything_and_end_in_time() -> Result<()> {
    let mut served = Served::start(Kind::Ours)?;
    let (at, session) = (served.address(), served.session("alice")?.to_owned());
    // One never reads.
    let silent = events(at, &session)?;
    let all: Vec<usize> = (0..EVENTS).collect();
    let mut hearing = Vec::new();
    for _ in 1..STREAMS {
        hearing.push(hear_until(events(at, &session)?, EVENTS - 1));
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let streams = STREAMS as f64;
    ensure!(served.metric("halite_api_event_streams")? == streams);
    let begun = Instant::now();
    fire(&served, &session, &all, FILLING)?;
    let fired = begun.elapsed();
    let last = check_all_heard(hearing, &all)?.duration_since(begun);
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
