//! The server, and how it is asked.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};
use halite_target::Ranges;
use thiserror::Error;

use crate::answer;
use crate::kept::{Found, Kept};
use crate::limits::{ANSWER_BYTES_MAX, EXPRESSION_BYTES_MAX, QUESTION_TIME_MAX};

/// Salt's default.
const SERVER_DEFAULT: &str = "range:80";
const PORT_DEFAULT: u16 = 80;

static KEPT: Mutex<Kept> = Mutex::new(Kept::new());

/// Why an expression was not expanded.
#[derive(Debug, Error)]
pub enum RangeError {
    /// The option is no address.
    #[error("range_server is {0:?}; it has to be a host and a port: range.example.com:80")]
    Address(String),
    /// The expression does not fit a request.
    #[error("a range expression has 1 to {EXPRESSION_BYTES_MAX} bytes")]
    Expression,
    /// Nobody answers there.
    #[error("the range server {server} (option range_server) cannot be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// What the system says.
        why: String,
    },
    /// It has not answered in time.
    #[error(
        "the range server {server} (option range_server) has not answered within {} s",
        QUESTION_TIME_MAX.as_secs()
    )]
    Late {
        /// The server.
        server: String,
    },
    /// The server has refused the expression.
    #[error("the range server says: {0}")]
    Refused(String),
    /// Some other status than 200. Nothing is followed to other places.
    #[error("the range server answers with status {0}")]
    Status(u16),
    /// The answer ended early, or comes in pieces that were not asked for.
    #[error("the range server's answer is not complete")]
    Incomplete,
    /// The answer is too large.
    #[error("the range server's answer is too large")]
    TooLarge,
    /// The answer is something else.
    #[error("the range server's answer is no list of hosts")]
    NotHosts,
    /// The answer is something else altogether.
    #[error("the range server does not speak HTTP")]
    NotHttp,
}

/// A range server, as the option `range_server` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeServer(String);

impl RangeServer {
    /// The server with this address, `host:port`.
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    /// The server of a configuration.
    pub fn of(opts: &Map) -> Self {
        let address = opts.get("range_server").and_then(Value::as_str);
        Self::new(address.unwrap_or(SERVER_DEFAULT))
    }

    /// The hosts that an expression stands for. It waits for the server, a few
    /// seconds at most.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses, or answers with something
    /// else than hosts.
    pub fn expand(&self, expression: &str) -> Result<Vec<String>, RangeError> {
        if expression.is_empty() || expression.len() > EXPRESSION_BYTES_MAX {
            return Err(RangeError::Expression);
        }
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let unreachable = |why| RangeError::Unreachable {
            server: self.0.clone(),
            why,
        };
        match kept().get(&self.0, expression, Instant::now()) {
            Some(Found::Hosts { hosts, .. }) => return Ok(hosts),
            Some(Found::Unreachable(why)) => return Err(unreachable(why)),
            None => {}
        }
        let asked = self.ask(expression);
        let found = match &asked {
            Ok(hosts) => Found::Hosts {
                expression: expression.to_owned(),
                hosts: hosts.clone(),
            },
            Err(RangeError::Unreachable { why, .. }) => Found::Unreachable(why.clone()),
            Err(RangeError::Late { .. }) => Found::Unreachable("it has not answered".to_owned()),
            Err(_) => return asked,
        };
        kept().put(&self.0, found, Instant::now());
        asked
    }

    fn ask(&self, expression: &str) -> Result<Vec<String>, RangeError> {
        let deadline = Instant::now() + QUESTION_TIME_MAX;
        let (host, port) = self.parts()?;
        let failed = |error: &io::Error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => RangeError::Late {
                server: self.0.clone(),
            },
            _ => RangeError::Unreachable {
                server: self.0.clone(),
                why: error.to_string(),
            },
        };
        let addresses = look_up(host.to_owned(), port, deadline).map_err(|e| failed(&e))?;
        let mut stream = connect(&addresses, deadline).map_err(|e| failed(&e))?;
        let request = format!(
            "GET /range/list?{} HTTP/1.0\r\nHost: {}\r\nUser-Agent: halite\r\n\
             Accept: */*\r\nConnection: close\r\n\r\n",
            quoted(expression),
            self.0
        );
        let sent = stream
            .set_write_timeout(Some(left(deadline)))
            .and_then(|()| stream.write_all(request.as_bytes()));
        sent.map_err(|e| failed(&e))?;
        let answer = read(&mut stream, deadline).map_err(|e| failed(&e))?;
        answer::hosts(&answer.ok_or(RangeError::TooLarge)?)
    }

    /// Host and port. What would be more than that in an address of HTTP (a
    /// path, a user, another line) is refused.
    fn parts(&self) -> Result<(&str, u16), RangeError> {
        let error = || RangeError::Address(self.0.clone());
        let (host, port) = match self.0.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(error)?;
                (host, rest.strip_prefix(':').filter(|port| !port.is_empty()))
            }
            None => match self.0.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (self.0.as_str(), None),
            },
        };
        let is_fit = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.is_empty() || !host.chars().all(is_fit) {
            return Err(error());
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| error())?,
            None => PORT_DEFAULT,
        };
        Ok((host, port))
    }
}

impl Ranges for RangeServer {
    fn hosts(&self, expression: &str) -> Result<Vec<String>, String> {
        self.expand(expression).map_err(|error| error.to_string())
    }
}

/// What is left of the time, never nothing: that would mean without end.
fn left(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}

/// A name server may keep the system waiting for longer than there is time: it
/// is asked by a thread of its own.
fn look_up(host: String, port: u16, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    let (tell, told) = mpsc::channel();
    thread::Builder::new()
        .name("range".to_owned())
        .spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            // Whoever asked may have gone.
            let _ = tell.send(found.map(Iterator::collect));
        })?;
    match told.recv_timeout(left(deadline)) {
        Ok(found) => found,
        Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the look-up has ended")),
    }
}

fn connect(addresses: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::other("its name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, left(deadline)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Everything until the server closes; nothing where that is too much.
fn read(stream: &mut TcpStream, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut answer = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left(deadline)))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(Some(answer)),
            Ok(count) => answer.extend(piece.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return Ok(None);
        }
    }
}

/// As Python's `urllib.parse.quote` writes it.
fn quoted(expression: &str) -> String {
    let mut out = String::with_capacity(expression.len() * 3);
    for byte in expression.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_quoted_as_python_does_it() {
        assert_eq!(
            quoted("%web:ALL,-@a{1..3} /x~é"),
            "%25web%3AALL%2C-%40a%7B1..3%7D%20/x~%C3%A9"
        );
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        let parts = |text: &str| {
            let server = RangeServer::new(text);
            let parts = server.parts().map(|(host, port)| (host.to_owned(), port));
            parts.map_err(|error| error.to_string())
        };
        assert_eq!(parts("range:80").unwrap(), ("range".to_owned(), 80));
        assert_eq!(parts("r.a.b").unwrap(), ("r.a.b".to_owned(), 80));
        assert_eq!(parts("[::1]:8080").unwrap(), ("::1".to_owned(), 8080));
        assert_eq!(parts("[::1]").unwrap(), ("::1".to_owned(), 80));
        for wrong in [
            "",
            ":80",
            "a:x",
            "a:99999",
            "a/b:80",
            "u@a:80",
            "a\r\nX: y",
            "[::1",
        ] {
            let error = parts(wrong).unwrap_err();
            assert!(error.starts_with("range_server is "), "{wrong}: {error}");
        }
    }
}
