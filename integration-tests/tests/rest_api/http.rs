//! Plain HTTP with an API, and listening to its events.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// Asks, and reads the answer to its end.
pub(crate) fn send(
    at: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<String> {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Accept") {
        request.push_str("Accept: */*\r\n");
    }
    if !body.is_empty() || !["GET", "HEAD"].contains(&method) {
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(format!("{request}\r\n{body}").as_bytes())?;
    let mut said = Vec::new();
    stream
        .read_to_end(&mut said)
        .with_context(|| format!("{method} {path} is not answered to its end"))?;
    let said = String::from_utf8_lossy(&said).into_owned();
    ensure!(said.starts_with("HTTP/1.1 "), "no answer: {said:?}");
    Ok(said)
}

/// A header of an answer.
pub(crate) fn header<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    let head = said.split("\r\n\r\n").next()?;
    head.lines().find_map(|line| {
        let (given, value) = line.split_once(": ")?;
        given.eq_ignore_ascii_case(name).then_some(value)
    })
}

/// The body of an answer, which is JSON.
pub(crate) fn body(said: &str) -> Result<Value> {
    let (_, body) = said.split_once("\r\n\r\n").context("no answer")?;
    serde_json::from_str(body).with_context(|| said.to_owned())
}

/// The events of an API from now on.
pub(crate) struct Listening(Arc<Mutex<Vec<Value>>>);

impl Listening {
    /// Listens with a session until the API ends the stream.
    pub(crate) fn start(at: SocketAddr, session: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(at)?;
        let request = format!(
            "GET /events HTTP/1.1\r\nHost: {at}\r\nX-Auth-Token: {session}\r\nConnection: \
             close\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        stream.set_read_timeout(Some(ANSWER))?;
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next().context("no answer")??;
        ensure!(first.starts_with("HTTP/1.1 200"), "{first}");
        let begun = lines.by_ref().map_while(Result::ok);
        let mut begun = begun.skip_while(|line| !line.starts_with("retry:"));
        begun.next().context("no stream")?;
        drop(begun);
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
