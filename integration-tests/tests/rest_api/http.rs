//! The answers of an API, and its event streams.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use halite_test_support::http;
pub(crate) use halite_test_support::http::{ask, begin, header, status};
use serde_json::Value;

/// The body of an answer, which is JSON.
pub(crate) fn body(said: &str) -> Result<Value> {
    let body = http::body(said).context("no answer")?;
    serde_json::from_str(body).with_context(|| said.to_owned())
}

/// A stream of events that has begun.
pub(crate) fn events(at: SocketAddr, session: &str) -> Result<BufReader<TcpStream>> {
    let stream = begin(at, "GET", "/events", &[("X-Auth-Token", session)], "")?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("retry:") {
        line.clear();
        ensure!(stream.read_line(&mut line)? > 0, "the stream has not begun");
    }
    Ok(stream)
}

/// The events of an API from now on.
pub(crate) struct Listening(Arc<Mutex<Vec<Value>>>);

impl Listening {
    /// Listens with a session until the API ends the stream.
    pub(crate) fn start(at: SocketAddr, session: &str) -> Result<Self> {
        let lines = events(at, session)?.lines();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keeper = Arc::clone(&heard);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let json = line.strip_prefix("data: ");
                if let Some(Ok(event)) = json.map(serde_json::from_str) {
                    let mut heard = keeper.lock().unwrap_or_else(PoisonError::into_inner);
                    heard.push(event);
                }
            }
        });
        Ok(Self(heard))
    }

    /// The data of the events with a tag, so far.
    pub(crate) fn of(&self, tag: &str) -> Vec<Value> {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = heard.iter().filter(|event| event["tag"] == tag);
        of.map(|event| event["data"].clone()).collect()
    }
}
