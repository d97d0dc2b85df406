//! Servers that do not keep to their protocols: an answer that never ends, a page that comes
//! again and again. No real server shows this, so the peers here are scripted. The error
//! comes within the limits, and a server that answers well later is used again.

#![cfg(all(
    feature = "etcd",
    feature = "mysql",
    feature = "postgres",
    feature = "redis"
))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halite_store::limits::ETCD_KEYS_AT_ONCE_MAX;
use halite_store::{
    BackendOptions, BankError, EtcdOptions, EtcdVersion, RedisOptions, Store, StoreOptions,
};
use halite_store_servers::limits::{ANSWER_BYTES_MAX, ETCD_ANSWER_BYTES_MAX};
use halite_store_servers::{
    Address, Failure, ServerError, etcd_server, mysql_server, postgres_server, redis_server,
};

/// What is under way between two sockets: the peer has sent it, and nobody has read it.
const SOCKET_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Keys of a page of the index of jobs in a Redis.
const INDEX_PAGE: usize = 5000;

/// A connection to a scripted server, which counts what is sent.
struct Connection {
    stream: BufReader<TcpStream>,
    sent: Arc<AtomicUsize>,
}

impl Connection {
    /// Whether the client has not hung up.
    fn send(&mut self, bytes: &[u8]) -> bool {
        let sent = self.stream.get_mut().write(bytes);
        let sent = sent.unwrap_or_default();
        self.sent.fetch_add(sent, Ordering::Relaxed);
        match sent {
            0 => false,
            _ => sent == bytes.len() || self.send(&bytes[sent..]),
        }
    }

    /// Sends an answer that begins so and goes on as long as somebody reads it.
    fn send_without_end(&mut self, beginning: &[u8]) {
        let more = [b'0'; 64 * 1024];
        let mut is_read = self.send(beginning);
        while is_read {
            is_read = self.send(&more);
        }
    }

    /// The next line, without its end; none when the client has hung up.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        (read.unwrap_or_default() > 0).then(|| line.trim_end().to_owned())
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The first word of a command for a Redis.
    fn redis_command(&mut self) -> Option<String> {
        let number = |line: String| line[1..].parse::<usize>().unwrap();
        let words = number(self.line()?);
        let mut first = None;
        for _ in 0..words {
            let length = number(self.line()?);
            let mut word = self.bytes(length + "\r\n".len())?;
            word.truncate(length);
            first.get_or_insert(word);
        }
        String::from_utf8(first?).ok()
    }

    /// Reads a message of PostgreSQL: the type of all but the first, a length, a body.
    fn postgres_message(&mut self, is_first: bool) -> Option<()> {
        if !is_first {
            self.bytes(1)?;
        }
        let length = self.bytes(4)?.try_into().ok()?;
        let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
        self.bytes(length.checked_sub(4)?).map(drop)
    }

    /// Reads a request by HTTP.
    fn request(&mut self) -> Option<()> {
        let mut length = 0;
        loop {
            let line = self.line()?.to_lowercase();
            if let Some(number) = line.strip_prefix("content-length:") {
                length = number.trim().parse().ok()?;
            }
            if line.is_empty() {
                return self.bytes(length).map(drop);
            }
        }
    }
}

/// Starts a server that does this with each connection; the number is how many there were
/// before. Gives its port, and how many bytes it has sent.
fn peer(serve: impl Fn(usize, Connection) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let connection = Connection {
                stream: BufReader::new(stream.unwrap()),
                sent: Arc::clone(&counted),
            };
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(number, connection));
        }
    });
    (port, sent)
}

/// The server has time: the drivers of a debug build are slow.
fn address(url: &str) -> Address {
    let mut address = Address::parse(url).unwrap();
    address.limit = Duration::from_secs(60);
    address.connect_limit = address.limit;
    address
}

fn open(place: BackendOptions) -> Store {
    halite_store::open(&StoreOptions::all(place))
}

/// What an etcd says of a range with these entries.
fn etcd_answer(kvs: &[String]) -> String {
    let kvs = kvs.join(",");
    let said = format!(r#"{{"header":{{"cluster_id":"1"}},"kvs":[{kvs}]}}"#);
    let length = said.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{said}")
}

fn assert_sent(sent: &AtomicUsize, max: usize) {
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent <= max + SOCKET_BYTES_MAX, "{sent} bytes");
}

#[test]
fn an_endless_answer_of_a_redis_ends_at_the_limit() {
    let (port, sent) = peer(|number, mut connection| {
        while let Some(command) = connection.redis_command() {
            match (command.as_str(), number) {
                ("GET", 0) => connection.send_without_end(b"$99999999999\r\n"),
                ("GET", _) => drop(connection.send(b"$2\r\nhi\r\n")),
                _ => drop(connection.send(b"+PONG\r\n")),
            }
        }
    });
    let server = redis_server(&address(&format!("redis://127.0.0.1:{port}")));
    let get = || -> Result<Vec<u8>, ServerError> {
        server.run(async |redis| Ok(redis::cmd("GET").arg("key").query_async(redis).await?))
    };
    let failure = get().unwrap_err().failure;
    assert!(matches!(failure, Failure::TooLong { .. }), "{failure}");
    // On a new connection.
    assert_eq!(get().unwrap(), b"hi");
    assert_sent(&sent, ANSWER_BYTES_MAX);
}

#[test]
fn an_endless_row_of_a_postgres_ends_at_the_limit() {
    let (port, sent) = peer(|_, mut connection| {
        connection.postgres_message(true).unwrap();
        // Signed in, and ready.
        connection.send(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
        connection.postgres_message(false).unwrap();
        connection.send_without_end(b"D\x7f\xff\xff\xff");
    });
    let server = postgres_server(&address(&format!(
        "postgresql://salt@127.0.0.1:{port}/salt"
    )));
    let failure = server.run(async |_| Ok(())).unwrap_err().failure;
    assert!(!matches!(failure, Failure::TimedOut { .. }), "{failure}");
    assert_sent(&sent, ANSWER_BYTES_MAX);
}

#[test]
fn an_endless_packet_of_a_mysql_ends_at_the_limit() {
    let (port, sent) = peer(|_, mut connection| {
        connection.send_without_end(b"\xff\xff\xff\0");
    });
    let server = mysql_server(&address(&format!("mysql://salt@127.0.0.1:{port}/salt")));
    let failure = server.run(async |_| Ok(())).unwrap_err().failure;
    assert!(!matches!(failure, Failure::TimedOut { .. }), "{failure}");
    assert_sent(&sent, ANSWER_BYTES_MAX);
}

#[test]
fn an_endless_answer_of_an_etcd_ends_at_the_limit() {
    let empty = etcd_answer(&[]);
    let (port, sent) = peer(move |number, mut connection| {
        while connection.request().is_some() {
            match number {
                0 => connection
                    .send_without_end(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"),
                _ => drop(connection.send(empty.as_bytes())),
            }
        }
    });
    let server = etcd_server(&address(&format!("etcd://127.0.0.1:{port}")));
    let range = || server.run(async |etcd| etcd.range(b"key", b"", 1, false).await);
    let failure = range().unwrap_err().failure;
    assert!(matches!(failure, Failure::TooLong { .. }), "{failure}");
    assert_eq!(range().unwrap(), []);
    assert_sent(&sent, ETCD_ANSWER_BYTES_MAX);
}

#[test]
fn a_redis_that_repeats_a_page_of_jobs_is_asked_twice() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let entries = (0..INDEX_PAGE).map(|n| format!("2026010203040{n:07} {{}}"));
    let entries = entries.map(|entry| format!("${}\r\n{entry}\r\n", entry.len()));
    let page = format!("*{INDEX_PAGE}\r\n{}", entries.collect::<String>());
    let (port, _) = peer(move |_, mut connection| {
        while let Some(command) = connection.redis_command() {
            match command.as_str() {
                "ZRANGEBYLEX" => {
                    counted.fetch_add(1, Ordering::Relaxed);
                    connection.send(page.as_bytes());
                }
                _ => drop(connection.send(b"+PONG\r\n")),
            }
        }
    });
    let address = address(&format!("redis://127.0.0.1:{port}"));
    let options = RedisOptions::new(address, Duration::ZERO);
    let store = open(BackendOptions::Redis(Box::new(options)));
    let error = store.jobs.newest(1).unwrap_err();
    assert!(error.to_string().contains("out of order"), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn an_etcd_that_repeats_a_page_of_keys_is_asked_twice() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let entries = (0..ETCD_KEYS_AT_ONCE_MAX).map(|n| {
        let key = STANDARD.encode(format!("/salt_cache/bank/{n:05}"));
        format!(r#"{{"key":"{key}","mod_revision":"1"}}"#)
    });
    let kvs: Vec<String> = entries.collect();
    let page = etcd_answer(&kvs);
    let (port, _) = peer(move |_, mut connection| {
        while connection.request().is_some() {
            counted.fetch_add(1, Ordering::Relaxed);
            connection.send(page.as_bytes());
        }
    });
    let store = open(BackendOptions::Etcd(Box::new(EtcdOptions {
        address: address(&format!("etcd://127.0.0.1:{port}")),
        version: EtcdVersion::V3,
    })));
    let BankError::Store(error) = store.banks.list("bank").unwrap_err() else {
        panic!("not an error of the store");
    };
    assert!(error.is_of_content(), "{error}");
    assert!(error.to_string().contains("out of order"), "{error}");
    // The first request is that of the connection.
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}
