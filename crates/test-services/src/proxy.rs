//! A server behind something that makes it slow, or answers in its place.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What happens to answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// They arrive as they are.
    Faithful,
    /// Each arrives so much later.
    Late(Duration),
    /// Each is replaced by this.
    Instead(&'static [u8]),
}

/// Stands between a store and its server.
#[derive(Debug)]
pub struct Proxy {
    /// Where it is asked.
    pub address: SocketAddr,
    mode: Arc<Mutex<Mode>>,
    is_over: Arc<AtomicBool>,
}

impl Proxy {
    /// One that is faithful at first.
    ///
    /// # Panics
    /// When it has no port to listen at.
    #[allow(clippy::unwrap_used)]
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let this = Self {
            address: listener.local_addr().unwrap(),
            mode: Arc::new(Mutex::new(Mode::Faithful)),
            is_over: Arc::default(),
        };
        let (mode, is_over) = (Arc::clone(&this.mode), Arc::clone(&this.is_over));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                let (Ok(from), Ok(to)) = (client.try_clone(), server.try_clone()) else {
                    return;
                };
                std::thread::spawn(move || forward(from, to, &Mutex::new(Mode::Faithful)));
                let mode = Arc::clone(&mode);
                std::thread::spawn(move || forward(server, client, &mode));
            }
        });
        this
    }

    /// What happens to the answers from now on.
    pub fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes it.
        let _ = TcpStream::connect(self.address);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, mode: &Mutex<Mode>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read) = from.read(&mut buffer) {
        let now = *mode.lock().unwrap_or_else(PoisonError::into_inner);
        if let Mode::Late(by) = now {
            std::thread::sleep(by);
        }
        let bytes = match now {
            Mode::Instead(bytes) if read > 0 => bytes,
            _ => buffer.get(..read).unwrap_or_default(),
        };
        if bytes.is_empty() || to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
