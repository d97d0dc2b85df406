//! More sign-ins than a master can serve, for a while, each of which costs it as much as
//! that of a minion. They come from many addresses, as those of a fleet do.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, bind, connect, recv, setsockopt,
    socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike as _};

use crate::master::{KeyState, Master};
use crate::wire::msgpack::Item;
use crate::wire::zmtp::Connection;

/// How long a connection may take to greet or to send.
const PATIENCE: Duration = Duration::from_secs(10);

/// Threads that send, and addresses of each.
const THREADS: u8 = 4;
const ADDRESSES: u8 = 60;

/// How often each of them looks what it has to send.
const TICK: Duration = Duration::from_millis(10);

/// Sign-ins that tell the pace of a master.
const PROBES: usize = 200;

/// No more are sent than this, whatever a master serves.
const PER_S_MAX: f64 = 200_000.0;

/// The name that they sign in by.
const ID: &str = "overload";

/// What came of the sign-ins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// That were sent.
    pub sent: u64,
    /// That were granted.
    pub granted: u64,
    /// That were told to come again.
    pub told: u64,
}

/// Sign-ins as those of Halite's minions, and of Salt's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Of those that come again when they are told.
    pub ours: Sent,
    /// Of those that do not understand it.
    pub of_salt: Sent,
}

/// Sign-ins that are sent until this is ended.
#[derive(Debug)]
pub struct Overload {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<Outcome>>>,
}

/// Who signs in at a master.
#[derive(Clone, Debug)]
pub struct Visitor {
    master: SocketAddr,
    pem: String,
}

impl Visitor {
    /// One with the key of a minion that the master has accepted, under a name of its
    /// own, so that nobody's session ends.
    ///
    /// # Errors
    /// When the master has accepted nobody, or its files cannot be written.
    pub fn new(master: &Master) -> Result<Self> {
        let accepted = master.dir().join("pki").join(KeyState::Accepted.dir());
        let entry = std::fs::read_dir(&accepted)?.next();
        let entry = entry.context("the master has accepted nobody")??;
        let pem = std::fs::read_to_string(entry.path())?;
        std::fs::write(accepted.join(ID), &pem)?;
        Ok(Self {
            master: master.address().request(),
            pem,
        })
    }

    fn request(&self, comes_again: bool) -> Vec<u8> {
        let mut load = Item::map([
            ("cmd", Item::from("_auth")),
            ("id", Item::from(ID)),
            ("nonce", Item::from("0123456789abcdef0123456789abcdef")),
            ("enc_algo", Item::from("OAEP-SHA1")),
            ("sig_algo", Item::from("PKCS1v15-SHA1")),
            ("pub", Item::from(self.pem.as_str())),
        ]);
        if let Item::Map(fields) = &mut load
            && comes_again
        {
            let says = Item::map([("come_again", Item::from(true))]);
            fields.push((Item::from("halite"), says));
        }
        Item::map([
            ("enc", Item::from("clear")),
            ("load", load),
            ("version", Item::from(3)),
        ])
        .pack()
    }

    /// One sign-in that is granted.
    ///
    /// # Errors
    /// When it is not.
    pub fn sign_in(&self) -> Result<()> {
        let mut connection = Connection::open(self.master, "REQ", PATIENCE)?;
        let answer = connection.ask(&self.request(false))?;
        ensure!(is_grant(&answer), "a sign-in was not granted");
        Ok(())
    }

    /// How many sign-ins the master serves in a second.
    ///
    /// # Errors
    /// When it does not answer them.
    pub fn served_per_s(&self) -> Result<f64> {
        let mut connection = Connection::open(self.master, "DEALER", PATIENCE)?;
        let request = self.request(false);
        let begun = Instant::now();
        for _ in 0..PROBES {
            connection.send_request(&request)?;
        }
        for _ in 0..PROBES {
            let answer = connection.receive()?;
            ensure!(answer.iter().any(|frame| is_grant(frame)), "no grant");
        }
        Ok(PROBES as f64 / begun.elapsed().as_secs_f64())
    }

    /// Begins to send so many sign-ins a second, half of them as minions of Salt.
    pub fn overload(&self, per_s: f64) -> Overload {
        let address = |thread, address| Ipv4Addr::new(127, 8, thread + 1, address + 1);
        let addresses = |thread| (0..ADDRESSES).map(|n| address(thread, n)).collect();
        self.send((0..THREADS).map(addresses).collect(), per_s, true)
    }

    /// Begins to send so many sign-ins a second from these addresses, all of them as
    /// minions of Salt.
    pub fn flood(&self, from: &[Ipv4Addr], per_s: f64) -> Overload {
        let each = from.len().div_ceil(THREADS.into()).max(1);
        let threads = from.chunks(each).map(<[Ipv4Addr]>::to_vec);
        self.send(threads.collect(), per_s, false)
    }

    /// Begins to send, with a thread for each list of addresses.
    fn send(&self, from: Vec<Vec<Ipv4Addr>>, per_s: f64, has_ours: bool) -> Overload {
        let stop = Arc::new(AtomicBool::new(false));
        let each = per_s.min(PER_S_MAX) / from.len() as f64;
        let threads = from.into_iter().map(|from| {
            let sender = Sender {
                visitor: self.clone(),
                from,
                per_s: each,
                has_ours,
                outcome: Outcome::default(),
            };
            let stop = Arc::clone(&stop);
            thread::spawn(move || sender.run(&stop))
        });
        Overload {
            threads: threads.collect(),
            stop,
        }
    }
}

impl Overload {
    /// Ends it.
    ///
    /// # Errors
    /// When the master took no connections.
    pub fn end(mut self) -> Result<Outcome> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Outcome::default();
        for thread in self.threads.drain(..) {
            let outcome = thread.join().map_err(|_| anyhow!("a sender panicked"))??;
            all.ours.add(outcome.ours);
            all.of_salt.add(outcome.of_salt);
        }
        Ok(all)
    }
}

impl Drop for Overload {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Sent {
    fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.granted += other.granted;
        self.told += other.told;
    }
}

impl Outcome {
    /// Both together.
    pub fn all(self) -> Sent {
        let mut all = self.ours;
        all.add(self.of_salt);
        all
    }
}

/// One thread with its addresses.
struct Sender {
    visitor: Visitor,
    from: Vec<Ipv4Addr>,
    per_s: f64,
    /// Whether every second address is that of minions that come again.
    has_ours: bool,
    outcome: Outcome,
}

impl Sender {
    fn run(mut self, stop: &AtomicBool) -> Result<Outcome> {
        let mut lines = Vec::new();
        for from in &self.from {
            lines.push(Line::open(*from, self.visitor.master)?);
        }
        let requests = [false, true].map(|is_odd| self.visitor.request(is_odd && self.has_ours));
        let begun = Instant::now();
        let mut sent = 0_usize;
        while !stop.load(Ordering::Relaxed) {
            while (sent as f64) < begun.elapsed().as_secs_f64() * self.per_s {
                let at = sent % lines.len();
                lines[at].connection.send_request(&requests[at % 2])?;
                self.of(at).sent += 1;
                sent += 1;
                if sent.is_multiple_of(lines.len()) {
                    self.hear(&mut lines)?;
                }
            }
            self.hear(&mut lines)?;
            thread::sleep(TICK);
        }
        Ok(self.outcome)
    }

    /// What has come of the sign-ins of an address.
    fn of(&mut self, at: usize) -> &mut Sent {
        match at % 2 == 1 && self.has_ours {
            true => &mut self.outcome.ours,
            false => &mut self.outcome.of_salt,
        }
    }

    fn hear(&mut self, lines: &mut [Line]) -> Result<()> {
        for (at, line) in lines.iter_mut().enumerate() {
            for answer in line.answers()? {
                let counts = self.of(at);
                counts.granted += u64::from(is_grant(&answer));
                counts.told += u64::from(is_told(&answer));
            }
        }
        Ok(())
    }
}

/// The connection of one address, and what has arrived of the next answer.
struct Line {
    connection: Connection,
    stream: TcpStream,
    arrived: Vec<u8>,
}

impl Line {
    fn open(from: Ipv4Addr, to: SocketAddr) -> Result<Self> {
        let stream = connect_from(from, to, PATIENCE)?;
        Ok(Self {
            connection: Connection::accept(stream.try_clone()?, "DEALER", PATIENCE)?,
            stream,
            arrived: Vec::new(),
        })
    }

    /// The answers that are there; it waits for none.
    fn answers(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut bytes = [0; 64 * 1024];
        loop {
            match recv(self.stream.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => bail!("the master has closed a connection"),
                Ok(count) => self.arrived.extend_from_slice(&bytes[..count]),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut answers = Vec::new();
        let mut rest = self.arrived.as_slice();
        while let Some((frame, behind)) = frame(rest) {
            // The other one is the empty delimiter.
            if !frame.is_empty() {
                answers.push(frame.to_vec());
            }
            rest = behind;
        }
        let read = self.arrived.len() - rest.len();
        self.arrived.drain(..read);
        Ok(answers)
    }
}

/// The first frame of what has arrived, if it is there as a whole, and what is behind it.
fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    const LONG: u8 = 2;
    let (flags, rest) = bytes.split_first()?;
    let (length, rest) = match flags & LONG {
        0 => rest
            .split_first()
            .map(|(length, rest)| (u64::from(*length), rest))?,
        _ => rest
            .split_first_chunk()
            .map(|(length, rest)| (u64::from_be_bytes(*length), rest))?,
    };
    rest.split_at_checked(usize::try_from(length).ok()?)
}

fn has(answer: &[u8], name: &[u8]) -> bool {
    answer.windows(name.len()).any(|part| part == name)
}

fn is_grant(answer: &[u8]) -> bool {
    has(answer, b"pub_key")
}

fn is_told(answer: &[u8]) -> bool {
    has(answer, b"come_again_ms")
}

/// Connects from an address of this machine.
pub(crate) fn connect_from(
    from: Ipv4Addr,
    to: SocketAddr,
    patience: Duration,
) -> Result<TcpStream> {
    let SocketAddr::V4(to) = to else {
        bail!("an address of IPv6");
    };
    let flags = SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Inet, SockType::Stream, flags, None)?;
    let patience = TimeVal::seconds(patience.as_secs().try_into()?);
    setsockopt(&fd, sockopt::SendTimeout, &patience)?;
    let from = SocketAddrV4::new(from, 0);
    bind(fd.as_raw_fd(), &SockaddrIn::from(from))?;
    connect(fd.as_raw_fd(), &SockaddrIn::from(to))?;
    Ok(TcpStream::from(fd))
}
