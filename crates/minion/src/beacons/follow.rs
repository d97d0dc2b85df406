//! The output of a program that runs endlessly, line by line.
//!
//! Invariant: nothing waits for it; lines that are not read in time are dropped and
//! counted, and the program ends with its [`Follow`].

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::{io, os::unix::process::CommandExt};

use halite_process::child;

use tracing::warn;

use crate::limits::{BEACON_LINE_BYTES_MAX, BEACON_LINES_WAITING_MAX};

/// Where the lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// On the standard output.
    Standard,
    /// Where complaints go.
    Errors,
}

/// A running program.
pub(super) struct Follow {
    child: Child,
    lines: Receiver<String>,
    dropped: Arc<AtomicUsize>,
}

impl Follow {
    /// Starts it.
    pub(super) fn start(program: &str, args: &[&str], output: Output) -> io::Result<Self> {
        let of = |this| match output == this {
            true => Stdio::piped(),
            false => Stdio::null(),
        };
        let mut child = child::command(program)
            .args(args)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(of(Output::Standard))
            .stderr(of(Output::Errors))
            .process_group(0)
            .spawn()?;
        let (tell, lines) = sync_channel(BEACON_LINES_WAITING_MAX);
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&dropped);
        let source = Source::of(&mut child);
        thread::Builder::new()
            .name("beacon-lines".to_owned())
            .spawn(move || source.pump(&tell, &counted))?;
        Ok(Self {
            child,
            lines,
            dropped,
        })
    }

    /// The lines since the last time.
    pub(super) fn new_lines(&self) -> Vec<String> {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            warn!(dropped, "lines came faster than they could be read");
        }
        self.lines.try_iter().collect()
    }

    /// Whether it still runs.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Source {
    Standard(ChildStdout),
    Errors(ChildStderr),
    Nothing,
}

impl Source {
    fn of(child: &mut Child) -> Self {
        match (child.stdout.take(), child.stderr.take()) {
            (Some(output), _) => Self::Standard(output),
            (None, Some(errors)) => Self::Errors(errors),
            (None, None) => Self::Nothing,
        }
    }

    fn pump(self, tell: &SyncSender<String>, dropped: &AtomicUsize) {
        let mut reader: Box<dyn BufRead> = match self {
            Self::Standard(output) => Box::new(BufReader::new(output)),
            Self::Errors(errors) => Box::new(BufReader::new(errors)),
            Self::Nothing => return,
        };
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut reader).take(BEACON_LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&line);
            match tell.try_send(line.trim_end_matches('\n').to_owned()) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
                Err(TrySendError::Disconnected(_)) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_either_output_come_and_the_end_is_seen() {
        for (output, script) in [
            (Output::Standard, "echo one; echo two; echo no >&2"),
            (Output::Errors, "echo one >&2; echo two >&2; echo no"),
        ] {
            let mut follow = Follow::start("sh", &["-c", script], output).unwrap();
            let lines: Vec<String> = follow.lines.iter().collect();
            assert_eq!(lines, ["one", "two"]);
            follow.child.wait().unwrap();
            assert!(!follow.runs());
            assert!(follow.new_lines().is_empty());
        }
        assert!(Follow::start("/nonexistent/program", &[], Output::Standard).is_err());
    }
}
