//! A cable between minions and one master that can be cut, or blackholed.
//!
//! Invariant: data that arrived while the cable was a black hole is passed on, in
//! order, when it is whole again, as TCP does after a lost route. Data that arrived
//! before a cut and was not passed on is lost.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Address, Master};
use anyhow::{Context, Result, ensure};

/// What the cable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cable {
    /// Bytes pass.
    Whole,
    /// Connections are closed, new ones too.
    Cut,
    /// Connections stand and nothing passes.
    Nowhere,
    /// Connections stand, and what the master says does not pass.
    Mute,
    /// The proxy ends.
    Gone,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Master,
    Minion,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Bytes a second to the master over all connections; 0 is as fast as can
    /// be.
    pace: AtomicUsize,
    /// Bytes that have passed to the master.
    passed: AtomicUsize,
    /// Until when the wire carries what it has taken.
    busy: Mutex<Option<Instant>>,
}

struct State {
    cable: Cable,
    /// Connections of earlier eras stand, and lead nowhere.
    era: usize,
    /// Both ends of each connection that stands, by its number.
    streams: HashMap<usize, [TcpStream; 2]>,
    /// Connections so far.
    count: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the wire has carried so many bytes to the master, behind those
    /// that others have given it.
    fn carry(&self, bytes: usize) {
        self.passed.fetch_add(bytes, Ordering::Relaxed);
        let pace = self.pace.load(Ordering::Relaxed);
        if pace == 0 {
            return;
        }
        let took = Duration::from_secs_f64(bytes as f64 / pace as f64);
        let until = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let until = busy.map_or(now, |busy| busy.max(now)) + took;
            *busy = Some(until);
            until
        };
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }

    /// Waits while nothing passes in this direction on a connection of `era`.
    fn passes(&self, era: usize, to: To) -> bool {
        let mut state = self.lock();
        let stands = |state: &State| !matches!(state.cable, Cable::Cut | Cable::Gone);
        let held = |state: &State| match state.cable {
            Cable::Nowhere => true,
            Cable::Mute => to == To::Minion,
            _ => false,
        };
        while held(&state) || (state.era > era && stands(&state)) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        stands(&state)
    }
}

/// The cable to one master.
pub struct Proxy {
    listens: Vec<SocketAddr>,
    /// The address of its own, if it has one.
    address: Option<Address>,
    shared: Arc<Shared>,
}

impl Proxy {
    /// A whole cable, on an address of its own with the master's ports.
    pub fn before(master: &Master) -> Result<Self> {
        let address = Address::claim()?;
        let to = master.address();
        let ends = [
            (address.publish(), to.publish()),
            (address.request(), to.request()),
        ];
        for (here, there) in ends {
            ensure!(here.port() == there.port(), "{here} and {there}");
        }
        Self::between(&ends, Some(address))
    }

    /// A whole cable from one place to another.
    pub fn from(here: SocketAddr, there: SocketAddr) -> Result<Self> {
        Self::between(&[(here, there)], None)
    }

    fn between(ends: &[(SocketAddr, SocketAddr)], address: Option<Address>) -> Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                cable: Cable::Whole,
                era: 0,
                streams: HashMap::new(),
                count: 0,
            }),
            changed: Condvar::new(),
            pace: AtomicUsize::new(0),
            passed: AtomicUsize::new(0),
            busy: Mutex::default(),
        });
        for &(here, there) in ends {
            listen(here, there, &shared)?;
        }
        Ok(Self {
            listens: ends.iter().map(|(here, _)| *here).collect(),
            address,
            shared,
        })
    }

    /// The address of its own.
    pub fn address(&self) -> Result<&Address> {
        self.address
            .as_ref()
            .context("this cable is on a port of another address")
    }

    /// Has the same cable carry another port.
    pub fn carry_too(&mut self, here: SocketAddr, there: SocketAddr) -> Result<()> {
        listen(here, there, &self.shared)?;
        self.listens.insert(0, here);
        Ok(())
    }

    /// Where minions find the master's request port.
    pub fn request(&self) -> SocketAddr {
        // The request port comes last.
        self.listens[self.listens.len() - 1]
    }

    /// Has the wire carry so many bytes a second to the master.
    pub fn set_pace(&self, bytes_per_s: usize) {
        self.shared.pace.store(bytes_per_s, Ordering::Relaxed);
    }

    /// Bytes that have passed to the master so far.
    pub fn passed_to_master(&self) -> usize {
        self.shared.passed.load(Ordering::Relaxed)
    }

    /// Forgets the connections that there are, as a firewall does with those
    /// that were idle: no end hears of it. New ones pass.
    pub fn forget(&self) {
        self.shared.lock().era += 1;
    }

    /// Changes what the cable does.
    pub fn set(&self, cable: Cable) {
        let mut state = self.shared.lock();
        state.cable = cable;
        if matches!(cable, Cable::Cut | Cable::Gone) {
            for stream in state.streams.drain().flat_map(|(_, ends)| ends) {
                stream.shutdown(Shutdown::Both).ok();
            }
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.set(Cable::Gone);
        for port in &self.listens {
            // Wakes the threads that accept.
            TcpStream::connect(port).ok();
        }
    }
}

fn listen(here: SocketAddr, there: SocketAddr, shared: &Arc<Shared>) -> Result<()> {
    let listener = TcpListener::bind(here)?;
    let shared = Arc::clone(shared);
    std::thread::spawn(move || accept(&listener, there, &shared));
    Ok(())
}

fn accept(listener: &TcpListener, there: SocketAddr, shared: &Arc<Shared>) {
    for stream in listener.incoming().flatten() {
        if shared.lock().cable == Cable::Gone {
            return;
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || join(stream, there, &shared).ok());
    }
}

/// Carries one connection in both directions.
fn join(minion: TcpStream, there: SocketAddr, shared: &Arc<Shared>) -> Result<()> {
    let era = shared.lock().era;
    if !shared.passes(era, To::Master) {
        return Ok(());
    }
    let master = TcpStream::connect(there)?;
    for stream in [&minion, &master] {
        stream.set_nodelay(true)?;
    }
    let (from, to) = (master.try_clone()?, minion.try_clone()?);
    let number = {
        let mut state = shared.lock();
        if matches!(state.cable, Cable::Cut | Cable::Gone) {
            return Ok(());
        }
        let ends = [minion.try_clone()?, master.try_clone()?];
        state.count += 1;
        let number = state.count;
        state.streams.insert(number, ends);
        number
    };
    let back = Arc::clone(shared);
    std::thread::spawn(move || carry(from, to, &back, era, To::Minion));
    carry(minion, master, shared, era, To::Master);
    // Health checks come many times a second: none may keep its descriptors.
    shared.lock().streams.remove(&number);
    Ok(())
}

fn carry(mut from: TcpStream, mut to: TcpStream, shared: &Shared, era: usize, whom: To) {
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let bytes = chunk.get(..count).unwrap_or_default();
        if whom == To::Master {
            shared.carry(count);
        }
        if !shared.passes(era, whom) || to.write_all(bytes).is_err() {
            break;
        }
    }
    // The end of one direction is the end of both, as after a reset.
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
