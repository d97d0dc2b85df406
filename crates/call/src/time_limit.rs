//! A time limit for jobs that somebody waits for.
//!
//! Invariant: no such job goes on beyond its limit.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::job::Cancel;

const KILL: i32 = 9;

/// Ends a job that takes too long; nothing once it is dropped.
#[derive(Debug)]
pub struct TimeLimit {
    /// The thread ends when nobody holds this any more.
    _held: Sender<()>,
}

impl TimeLimit {
    /// Begins to count; `what` is named when the time is over. Without a thread
    /// to count on, the job is ended at once.
    pub fn start(cancel: Cancel, time_max: Duration, what: &'static str) -> Self {
        let (held, is_held) = mpsc::channel();
        let job = cancel.clone();
        let counting = thread::Builder::new()
            .name("time-limit".to_owned())
            .spawn(move || {
                if is_held.recv_timeout(time_max) == Err(RecvTimeoutError::Timeout) {
                    tracing::error!("{what} takes longer than {time_max:?}, it is ended");
                    job.signal(KILL);
                }
            });
        if let Err(error) = counting {
            tracing::error!(%error, "{what} is not run, because its time cannot be limited");
            cancel.signal(KILL);
        }
        Self { _held: held }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_ended() {
        let (late, done) = (Cancel::default(), Cancel::default());
        let _limit = TimeLimit::start(late.clone(), Duration::from_millis(1), "this");
        drop(TimeLimit::start(
            done.clone(),
            Duration::from_secs(3600),
            "this",
        ));
        // It does not sleep that long: it is ended.
        assert!(!late.sleep(Duration::from_secs(60)));
        assert_eq!((late.ended_by(), done.ended_by()), (Some(KILL), None));
    }
}
