//! The signals a daemon answers to.

use std::fmt;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Why the daemon is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// SIGTERM: the service manager or `kill`.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
}

impl Shutdown {
    /// The number of the signal.
    pub fn number(self) -> i32 {
        match self {
            Self::Terminate => SignalKind::terminate().as_raw_value(),
            Self::Interrupt => SignalKind::interrupt().as_raw_value(),
        }
    }
}

impl fmt::Display for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
        })
    }
}

/// Waits for SIGTERM and SIGINT. Made before anything is bound, so that a
/// signal during the start is not lost.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes over both signals; needs a tokio runtime.
    ///
    /// # Errors
    /// When the system does not let them be caught.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) -> Shutdown {
        tokio::select! {
            _ = self.terminate.recv() => Shutdown::Terminate,
            _ = self.interrupt.recv() => Shutdown::Interrupt,
        }
    }
}

/// Waits for SIGTERM or SIGINT.
///
/// # Errors
/// When the system does not let them be caught.
pub async fn shutdown() -> io::Result<Shutdown> {
    Ok(Signals::new()?.next().await)
}

/// SIGHUP, over and over: the request to open the log file again.
///
/// # Errors
/// When the system does not let it be caught.
pub fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;

    #[tokio::test]
    async fn both_signals_are_told_apart() {
        let mut signals = Signals::new().unwrap();
        raise(nix::sys::signal::Signal::SIGTERM).unwrap();
        assert_eq!(signals.next().await, Shutdown::Terminate);
        raise(nix::sys::signal::Signal::SIGINT).unwrap();
        assert_eq!(signals.next().await, Shutdown::Interrupt);
    }
}
