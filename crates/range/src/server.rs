//! The server and the HTTP request to it.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use halite_proto::{Map, Value};
use halite_target::Ranges;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use thiserror::Error;
use ureq::Agent;

use crate::answer;
use crate::kept::{Answer, Kept};
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
    #[error("the range server's answer is not a list of hosts")]
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

    /// The server that the configuration names.
    pub fn from_opts(opts: &Map) -> Self {
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
            Some(Answer::Hosts { hosts, .. }) => return Ok(hosts),
            Some(Answer::Unreachable(why)) => return Err(unreachable(why)),
            None => {}
        }
        let asked = self.ask(expression);
        let found = match &asked {
            Ok(hosts) => Answer::Hosts {
                expression: expression.to_owned(),
                hosts: hosts.clone(),
            },
            Err(RangeError::Unreachable { why, .. }) => Answer::Unreachable(why.clone()),
            Err(RangeError::Late { .. }) => Answer::Unreachable("it has not answered".to_owned()),
            Err(_) => return asked,
        };
        kept().put(&self.0, found, Instant::now());
        asked
    }

    fn ask(&self, expression: &str) -> Result<Vec<String>, RangeError> {
        let (host, port) = self.parts()?;
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host.to_owned(),
        };
        let expression = utf8_percent_encode(expression, QUOTED);
        let answer = agent()
            .get(format!("http://{host}:{port}/range/list?{expression}"))
            .call()
            .map_err(|error| self.failed(error))?;
        let (head, mut body) = answer.into_parts();
        if let Some(refusal) = head.headers.get("rangeexception") {
            let refusal = String::from_utf8_lossy(refusal.as_bytes());
            return Err(RangeError::Refused(answer::shown(&refusal)));
        }
        if head.status != 200 {
            return Err(RangeError::Status(head.status.as_u16()));
        }
        let body = body.with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => RangeError::TooLarge,
            ureq::Error::Timeout(_) => self.late(),
            _ => RangeError::Incomplete,
        })?;
        answer::hosts(&body)
    }

    /// Why there is no answer at all.
    fn failed(&self, error: ureq::Error) -> RangeError {
        let why = match error {
            ureq::Error::Timeout(_) => return self.late(),
            ureq::Error::Protocol(_) => return RangeError::NotHttp,
            // Who closes without a word is there, and is something else.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return RangeError::NotHttp;
            }
            ureq::Error::Io(error) => error.to_string(),
            error => error.to_string(),
        };
        RangeError::Unreachable {
            server: self.0.clone(),
            why,
        }
    }

    fn late(&self) -> RangeError {
        RangeError::Late {
            server: self.0.clone(),
        }
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
        let is_fit = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
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

/// Asks nobody else than it is told to: no proxy, and no other place that an
/// answer names.
fn agent() -> Agent {
    Agent::config_builder()
        .timeout_global(Some(QUESTION_TIME_MAX))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .max_idle_connections(0)
        .user_agent("halite")
        .build()
        .into()
}

/// All but what Python's `urllib.parse.quote` leaves as it is.
const QUOTED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'_')
    .remove(b'.')
    .remove(b'-')
    .remove(b'~')
    .remove(b'/');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_quoted_as_python_does_it() {
        assert_eq!(
            utf8_percent_encode("%web:ALL,-@a{1..3} /x~é", QUOTED).to_string(),
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
            "[fe80::1%lo]:80",
            "a\r\nX: y",
            "[::1",
        ] {
            let error = parts(wrong).unwrap_err();
            assert!(error.starts_with("range_server is "), "{wrong}: {error}");
        }
    }
}
