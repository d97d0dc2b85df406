//! The signals that a daemon handles.

use std::fmt;
use std::future::Future;
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

/// Says in the log what the process is at, whenever somebody asks with SIGUSR1
/// (where Salt's daemons write down their stacks) or SIGUSR2 (where they begin
/// to measure themselves): neither may end the daemon. For ever; to be spawned
/// as a task once a log is there.
///
/// # Errors
/// When the system does not let them be caught.
pub fn inquiries() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut first = signal(SignalKind::user_defined1())?;
    let mut second = signal(SignalKind::user_defined2())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = first.recv() => {}
                _ = second.recv() => {}
            }
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let line = |name: &str| {
                let mut lines = status.lines();
                let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                value.unwrap_or_default().trim().to_owned()
            };
            let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
            tracing::warn!(
                threads = line("Threads"),
                memory = line("VmRSS"),
                open_files = files,
                "asked by a signal: the process is working"
            );
        }
    })
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

    #[tokio::test]
    async fn who_asks_does_not_end_the_process() {
        let asked = tokio::spawn(inquiries().unwrap());
        for signal in ["SIGUSR1", "SIGUSR2"] {
            raise(signal.parse().unwrap()).unwrap();
            tokio::task::yield_now().await;
        }
        assert!(!asked.is_finished());
        asked.abort();
    }
}
