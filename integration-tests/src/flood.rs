//! Strangers with addresses of their own who send the most expensive requests, as
//! fast as they can, until they are stopped.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use crate::found_requests::{Attacker, false_sign};
use crate::overload::connect_from;
use crate::wire::msgpack::Item;
use crate::wire::stand_in::StandIn;
use crate::wire::zmtp::Connection;

/// How long a stranger waits for anything.
const PATIENCE: Duration = Duration::from_secs(2);

/// Requests that a stranger sends before it reads an answer, and how long it rests
/// then: the machine has to carry the strangers as well as their victim.
const AHEAD: usize = 16;
const AHEAD_GIANT: usize = 2;
const REST: Duration = Duration::from_millis(20);

const MEBI: usize = 1 << 20;

/// A sign-in of megabytes. Packing it anew would cost the machine more than its master.
static GIANT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let load = Item::map([
        ("cmd", Item::from("_auth")),
        ("id", Item::from("giant")),
        ("pub", Item::from("x".repeat(4 * MEBI).as_str())),
    ]);
    StandIn::clear(load).pack()
});

/// Connections that a stranger holds without greeting on them.
const HELD: usize = 100;

/// What a stranger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Signs in with keys of its own, under names of others and new ones.
    BadKeys,
    /// Sends requests of megabytes.
    Giant,
    /// Opens connections and says next to nothing.
    HalfOpen,
    /// Asks for what nobody knows, and seals with keys that nobody has.
    Unknown,
    /// Sends again what a minion has sent.
    Replayed,
    /// Sends a large request byte by byte.
    Slow,
    /// Sends what hostile readers of the code have found.
    Found,
    /// Says that minions are here, without a proof.
    FalseSigns,
    /// Is an accepted minion, and asks for what it may not.
    Accepted,
}

/// How many kinds there are.
const KINDS: usize = Kind::ALL.len();

impl Kind {
    /// What strangers of this kind do.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadKeys => "sign-ins with keys of their own",
            Self::Giant => "requests of megabytes",
            Self::HalfOpen => "connections that are held open",
            Self::Unknown => "unknown requests and keys",
            Self::Replayed => "what was recorded",
            Self::Slow => "requests byte by byte",
            Self::Found => "requests that hostile readers found",
            Self::FalseSigns => "false signs of life",
            Self::Accepted => "as an accepted minion, what it may not",
        }
    }

    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::BadKeys,
        Self::Giant,
        Self::HalfOpen,
        Self::Unknown,
        Self::Replayed,
        Self::Slow,
        Self::Found,
        Self::FalseSigns,
        Self::Accepted,
    ];
}

/// What strangers know and have.
#[derive(Debug)]
pub struct Means {
    /// The request port.
    pub master: SocketAddr,
    /// The publish port.
    pub publisher: SocketAddr,
    /// A public key that the master does not know.
    pub public_pem: String,
    /// An id whose key is accepted.
    pub known_id: String,
    /// What was heard of a minion: its sign-in, and a request.
    pub recorded: Vec<Vec<u8>>,
    /// Requests that hostile readers have found.
    pub found: Vec<Vec<u8>>,
    /// An accepted minion.
    pub attacker: Attacker,
}

/// Strangers that run until this is dropped.
#[derive(Debug)]
pub struct Flood {
    stop: Arc<AtomicBool>,
    sent: Arc<[AtomicU64; KINDS]>,
    threads: Vec<JoinHandle<()>>,
    kinds: &'static [Kind],
}

impl Flood {
    /// Starts `count` strangers, each of which has an address and does one thing.
    pub fn start(means: Means, count: u8, kinds: &'static [Kind]) -> Self {
        let means = Arc::new(means);
        let stop = Arc::new(AtomicBool::new(false));
        let sent = Arc::new([const { AtomicU64::new(0) }; KINDS]);
        let mut threads = Vec::new();
        for (number, &kind) in (0..count).zip(kinds.iter().cycle()) {
            let stranger = Stranger {
                means: Arc::clone(&means),
                from: Ipv4Addr::new(127, 9, 9, number + 1),
                kind,
                number: u64::from(number) << 32,
            };
            let (stop, sent) = (Arc::clone(&stop), Arc::clone(&sent));
            threads.push(thread::spawn(move || stranger.run(&stop, &sent)));
        }
        Self {
            stop,
            sent,
            threads,
            kinds,
        }
    }

    /// What was sent so far, by kind.
    pub fn sent(&self) -> Vec<(Kind, u64)> {
        let sent = |kind: Kind| self.sent[kind as usize].load(Ordering::Relaxed);
        self.kinds.iter().map(|&kind| (kind, sent(kind))).collect()
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

/// One after the other.
fn one_of(requests: &[Vec<u8>], number: u64) -> Result<Vec<u8>> {
    let which = usize::try_from(number)? % requests.len();
    Ok(requests[which].clone())
}

struct Stranger {
    means: Arc<Means>,
    from: Ipv4Addr,
    kind: Kind,
    /// Of the next request; no two strangers have the same.
    number: u64,
}

impl Stranger {
    fn run(mut self, stop: &AtomicBool, sent: &[AtomicU64; KINDS]) {
        let count = &sent[self.kind as usize];
        while !stop.load(Ordering::Relaxed) {
            let ended = match self.kind {
                Kind::HalfOpen => self.hold(stop, count),
                Kind::Slow => self.drip(stop, count),
                Kind::FalseSigns => self.claim(stop, count),
                _ => self.ask(stop, count),
            };
            // The master has closed the connection, or has no room for another.
            if ended.is_err() {
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    fn connect(&self) -> Result<TcpStream> {
        connect_from(self.from, self.means.master, PATIENCE)
    }

    /// Says over a subscription that a minion is here, several times at once.
    fn claim(&mut self, stop: &AtomicBool, count: &AtomicU64) -> Result<()> {
        let stream = connect_from(self.from, self.means.publisher, PATIENCE)?;
        let mut connection = Connection::accept(stream, "SUB", PATIENCE)?;
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..AHEAD {
                self.number += 1;
                connection.send(&[&false_sign(&self.means.known_id, self.number)])?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(REST);
        }
        Ok(())
    }

    /// Asks on one connection, several requests at a time.
    fn ask(&mut self, stop: &AtomicBool, count: &AtomicU64) -> Result<()> {
        let mut connection = Connection::accept(self.connect()?, "REQ", PATIENCE)?;
        let ahead = match self.kind {
            Kind::Giant => AHEAD_GIANT,
            _ => AHEAD,
        };
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..ahead {
                let request = self.request()?;
                connection.send_request(&request)?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            // Many get no answer; the pace is the master's.
            connection.receive()?;
            thread::sleep(REST);
        }
        Ok(())
    }

    fn request(&mut self) -> Result<Vec<u8>> {
        self.number += 1;
        let number = self.number;
        let is_odd = number % 2 == 1;
        Ok(match self.kind {
            Kind::BadKeys => {
                let new = format!("x{}-{}", number >> 32, number % 500);
                let id = if is_odd { &self.means.known_id } else { &new };
                let load = Item::map([
                    ("cmd", Item::from("_auth")),
                    ("id", Item::from(id.as_str())),
                    ("nonce", Item::from(format!("{number:032x}").as_str())),
                    ("enc_algo", Item::from("OAEP-SHA1")),
                    ("sig_algo", Item::from("PKCS1v15-SHA1")),
                    ("pub", Item::from(self.means.public_pem.as_str())),
                ]);
                StandIn::clear(load).pack()
            }
            Kind::Giant if is_odd => GIANT.clone(),
            // Values within values, and an envelope of nothing.
            Kind::Giant => vec![0x91; MEBI],
            Kind::Unknown if is_odd => {
                StandIn::clear(Item::map([("cmd", Item::from("no_such"))])).pack()
            }
            Kind::Unknown => Item::map([
                ("enc", Item::from("aes")),
                ("load", Item::from([7_u8; 512].as_slice())),
                ("version", Item::from(3)),
                ("id", Item::from(self.means.known_id.as_str())),
            ])
            .pack(),
            Kind::Accepted => self.means.attacker.request(&self.means.known_id, number),
            Kind::Found => one_of(&self.means.found, number)?,
            Kind::Replayed | Kind::HalfOpen | Kind::Slow | Kind::FalseSigns => {
                one_of(&self.means.recorded, number)?
            }
        })
    }

    /// Holds connections on which a greeting begins, and begins anew.
    fn hold(&self, stop: &AtomicBool, count: &AtomicU64) -> Result<()> {
        let mut held = Vec::new();
        while held.len() < HELD && !stop.load(Ordering::Relaxed) {
            let mut stream = self.connect()?;
            stream.write_all(b"\xff\0\0\0")?;
            held.push(stream);
            count.fetch_add(1, Ordering::Relaxed);
        }
        let mut end = PATIENCE;
        let step = Duration::from_millis(50);
        while !stop.load(Ordering::Relaxed) && !end.is_zero() {
            thread::sleep(step);
            end = end.saturating_sub(step);
        }
        Ok(())
    }

    /// Announces a large request and sends a byte of it at a time.
    fn drip(&self, stop: &AtomicBool, count: &AtomicU64) -> Result<()> {
        let mut connection = Connection::accept(self.connect()?, "REQ", PATIENCE)?;
        let mut head = vec![1, 0, 2];
        head.extend((90_u64 << 20).to_be_bytes());
        connection.write_raw(&head)?;
        while !stop.load(Ordering::Relaxed) {
            connection.write_raw(b"x")?;
            count.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}
