//! Requests in plain HTTP/1.1, as a client without a library of its own sends them.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a server may be silent.
const SILENT_MAX: Duration = Duration::from_secs(60);

/// The end of a head.
const BLANK: &str = "\r\n\r\n";

/// Sends a request, and reads the answer to the end of its body or of the connection.
///
/// # Errors
/// When nobody is there, or there is no whole answer.
pub fn ask(
    at: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<String> {
    let mut stream = begin(at, method, path, headers, body)?;
    let has_body = method != "HEAD";
    let mut said = Vec::new();
    let mut piece = [0; 16 * 1024];
    while !(has_body && is_whole(&said)) {
        match stream.read(&mut piece)? {
            0 => break,
            read => said.extend_from_slice(piece.get(..read).unwrap_or_default()),
        }
    }
    let said = String::from_utf8_lossy(&said).into_owned();
    match said.starts_with("HTTP/1.1 ") && said.contains(BLANK) {
        true => Ok(said),
        false => Err(io::Error::other(format!("no answer: {said:?}"))),
    }
}

/// Sends a request; the answer has not been read.
///
/// # Errors
/// When nobody is there.
pub fn begin(
    at: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<TcpStream> {
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
    stream.set_read_timeout(Some(SILENT_MAX))?;
    stream.write_all(format!("{request}\r\n{body}").as_bytes())?;
    Ok(stream)
}

/// The status of an answer.
pub fn status(said: &str) -> Option<u16> {
    said.split(' ').nth(1)?.parse().ok()
}

/// A header of an answer.
pub fn header<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    let head = said.split(BLANK).next()?;
    head.lines().find_map(|line| {
        let (given, value) = line.split_once(':')?;
        given.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The body of an answer.
pub fn body(said: &str) -> Option<&str> {
    said.split_once(BLANK).map(|(_, body)| body)
}

/// Whether all of a body is there whose length the head says.
fn is_whole(said: &[u8]) -> bool {
    let Some(end) = said
        .windows(BLANK.len())
        .position(|bytes| bytes == BLANK.as_bytes())
    else {
        return false;
    };
    let (head, body) = said.split_at(end);
    let length = header(&String::from_utf8_lossy(head), "content-length")
        .and_then(|length| length.parse::<usize>().ok());
    length.is_some_and(|length| body.len() >= BLANK.len() + length)
}
