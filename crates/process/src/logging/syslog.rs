//! A log of the system or of another machine: `file:///dev/log`,
//! `udp://loghost:514`, `tcp://loghost:514`, each with an optional facility
//! (`udp://loghost:514/LOG_LOCAL0`).
//!
//! Invariant: whatever the other end does, the program goes on; lines that cannot
//! be sent are lost.

use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a line may hold up who logs, where the other end does not read.
const SEND_MAX: Duration = Duration::from_millis(200);

/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// Between tries to connect again.
const RETRY: Duration = Duration::from_secs(10);

/// Where no port is given.
const PORT: u16 = 514;

/// Names of facilities and their numbers (RFC 5424).
const FACILITIES: [(&str, u8); 20] = [
    ("KERN", 0),
    ("USER", 1),
    ("MAIL", 2),
    ("DAEMON", 3),
    ("AUTH", 4),
    ("SYSLOG", 5),
    ("LPR", 6),
    ("NEWS", 7),
    ("UUCP", 8),
    ("CRON", 9),
    ("AUTHPRIV", 10),
    ("FTP", 11),
    ("LOCAL0", 16),
    ("LOCAL1", 17),
    ("LOCAL2", 18),
    ("LOCAL3", 19),
    ("LOCAL4", 20),
    ("LOCAL5", 21),
    ("LOCAL6", 22),
    ("LOCAL7", 23),
];

/// The facility where none is given.
const USER: u8 = 1;

/// What `log_file` says when it is no path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    to: To,
    facility: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum To {
    Socket(PathBuf),
    Udp(String),
    Tcp(String),
}

impl Address {
    /// Reads `log_file`; nothing if it is a path.
    ///
    /// # Errors
    /// What is wrong with an address.
    pub(super) fn parse(log_file: &Path) -> Result<Option<Self>, &'static str> {
        let Some((scheme, rest)) = log_file.to_str().and_then(|text| text.split_once("://")) else {
            return Ok(None);
        };
        if scheme.contains('/') {
            return Ok(None);
        }
        let (place, facility) = match rest.rsplit_once("/LOG_") {
            Some((place, name)) => {
                let found = FACILITIES.iter().find(|(known, _)| *known == name);
                (place, found.ok_or("there is no such facility")?.1)
            }
            None => (rest.trim_end_matches('/'), USER),
        };
        if place.is_empty() {
            return Err("it names no place");
        }
        let to = match scheme {
            "file" if place.starts_with('/') => To::Socket(place.into()),
            "file" => return Err("the path of the socket does not begin with a slash"),
            "udp" => To::Udp(with_port(place)?),
            "tcp" => To::Tcp(with_port(place)?),
            _ => return Err("it is a path, file:///dev/log, udp://HOST:PORT or tcp://HOST:PORT"),
        };
        Ok(Some(Self { to, facility }))
    }
}

fn with_port(place: &str) -> Result<String, &'static str> {
    if place.contains('/') {
        return Err("there is no such facility");
    }
    match place.rsplit_once(':') {
        Some((_, port)) if !place.ends_with(']') => match port.parse::<u16>() {
            Ok(_) => Ok(place.to_owned()),
            Err(_) => Err("the port is none"),
        },
        _ => Ok(format!("{place}:{PORT}")),
    }
}

/// An open way to a log.
#[derive(Debug)]
pub(super) struct Syslog {
    facility: u8,
    way: Mutex<Way>,
}

#[derive(Debug)]
enum Way {
    Socket(UnixDatagram, PathBuf),
    Udp(UdpSocket),
    Tcp {
        place: String,
        stream: Option<TcpStream>,
        tried: Instant,
    },
}

impl Syslog {
    /// Opens the way; nobody need be at its other end yet.
    pub(super) fn open(address: &Address) -> io::Result<Self> {
        let way = match &address.to {
            To::Socket(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.set_write_timeout(Some(SEND_MAX))?;
                Way::Socket(socket, path.clone())
            }
            To::Udp(place) => {
                let to = first(place)?;
                let from: SocketAddr = match to {
                    SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                    SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
                };
                let socket = UdpSocket::bind(from)?;
                socket.connect(to)?;
                socket.set_write_timeout(Some(SEND_MAX))?;
                Way::Udp(socket)
            }
            To::Tcp(place) => Way::Tcp {
                stream: connect(place).ok(),
                place: place.clone(),
                tried: Instant::now(),
            },
        };
        Ok(Self {
            facility: address.facility,
            way: Mutex::new(way),
        })
    }

    /// Sends a line of the level called `level`.
    pub(super) fn send(&self, level: &str, line: &str) {
        let priority = self.facility * 8 + severity(level);
        let message = format!("<{priority}>{}", line.trim_end_matches('\n'));
        let mut way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *way {
            Way::Socket(socket, path) => drop(socket.send_to(message.as_bytes(), path)),
            Way::Udp(socket) => drop(socket.send(message.as_bytes())),
            Way::Tcp {
                place,
                stream,
                tried,
            } => {
                if stream.is_none() && tried.elapsed() >= RETRY {
                    *tried = Instant::now();
                    *stream = connect(place).ok();
                }
                let line = message + "\n";
                let sent = stream
                    .as_mut()
                    .is_some_and(|open| open.write_all(line.as_bytes()).is_ok());
                if !sent {
                    *stream = None;
                }
            }
        }
    }
}

fn first(place: &str) -> io::Result<SocketAddr> {
    let mut found = place.to_socket_addrs()?;
    found
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

fn connect(place: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&first(place)?, CONNECT_MAX)?;
    stream.set_write_timeout(Some(SEND_MAX))?;
    Ok(stream)
}

/// The number of a level in syslog.
fn severity(level: &str) -> u8 {
    match level {
        "CRITICAL" => 2,
        "ERROR" => 3,
        "WARNING" => 4,
        "INFO" => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    use super::*;

    fn address(text: &str) -> Result<Option<Address>, &'static str> {
        Address::parse(Path::new(text))
    }

    #[test]
    fn addresses_are_told_from_paths() {
        assert_eq!(address("/var/log/salt/minion"), Ok(None));
        assert_eq!(address("/odd/a://b"), Ok(None));
        let socket = |path: &str, facility| {
            Ok(Some(Address {
                to: To::Socket(path.into()),
                facility,
            }))
        };
        assert_eq!(address("file:///dev/log"), socket("/dev/log", 1));
        assert_eq!(address("file:///dev/log/LOG_DAEMON"), socket("/dev/log", 3));
        for (text, place) in [
            ("udp://loghost", "loghost:514"),
            ("udp://loghost:10514/", "loghost:10514"),
            ("udp://[::1]/LOG_LOCAL7", "[::1]:514"),
            ("udp://[::1]:7", "[::1]:7"),
        ] {
            let to = address(text).unwrap().unwrap().to;
            assert_eq!(to, To::Udp(place.to_owned()), "{text}");
        }
        for text in [
            "udp://",
            "udp://h/LOG_NONE",
            "udp://h/x",
            "udp://h:x",
            "file://log",
            "http://h",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lines_arrive_with_their_priority() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let text = format!("file://{}/LOG_DAEMON", path.display());
        let log = Syslog::open(&address(&text).unwrap().unwrap()).unwrap();
        // Nobody there yet: lost, and no error.
        log.send("INFO", "early\n");
        let reader = UnixDatagram::bind(&path).unwrap();
        log.send("WARNING", "late\n");
        let mut buffer = [0; 64];
        let count = reader.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..count], b"<28>late");

        let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
        let text = format!("udp://{}", reader.local_addr().unwrap());
        let log = Syslog::open(&address(&text).unwrap().unwrap()).unwrap();
        log.send("ERROR", "far\n");
        let count = reader.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..count], b"<11>far");

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!("tcp://{}/LOG_USER", listener.local_addr().unwrap());
        let log = Syslog::open(&address(&text).unwrap().unwrap()).unwrap();
        log.send("CRITICAL", "whole\n");
        let mut line = String::new();
        let (stream, _) = listener.accept().unwrap();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line, "<10>whole\n");
    }
}
