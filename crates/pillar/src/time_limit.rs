//! A limit on how long code may take that a pillar waits for.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use halite_modules::Cancel;

const KILL: i32 = 9;

/// Ends a job that takes too long; nothing once it is dropped.
pub(crate) struct EndAfter {
    /// The thread ends when nobody holds this any more.
    _held: Sender<()>,
}

impl EndAfter {
    /// Begins to count.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(crate) fn start(time_max: Duration, cancel: Cancel) -> io::Result<Self> {
        let (held, is_held) = mpsc::channel();
        thread::Builder::new()
            .name("pillar-limit".to_owned())
            .spawn(move || {
                if is_held.recv_timeout(time_max) == Err(RecvTimeoutError::Timeout) {
                    tracing::error!(
                        "an external pillar takes longer than {time_max:?}, it is ended"
                    );
                    cancel.signal(KILL);
                }
            })?;
        Ok(Self { _held: held })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_ended() {
        let (late, done) = (Cancel::default(), Cancel::default());
        let _limit = EndAfter::start(Duration::from_millis(1), late.clone()).unwrap();
        drop(EndAfter::start(Duration::from_secs(3600), done.clone()).unwrap());
        // It does not sleep that long: it is ended.
        assert!(!late.sleep(Duration::from_secs(60)));
        assert_eq!((late.ended_by(), done.ended_by()), (Some(KILL), None));
    }
}
