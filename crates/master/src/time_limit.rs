//! A limit on how long something may take that runs commands or Python code.

use std::time::Duration;

use halite_modules::Cancel;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::master::Master;

const KILL: i32 = 9;

/// Ends a job that takes too long; nothing once it is dropped.
pub(crate) struct TimeLimit(Option<JoinHandle<()>>);

impl TimeLimit {
    /// Begins to count; `what` is named when the time is over.
    pub(crate) fn start(
        master: &Master,
        cancel: Cancel,
        time_max: Duration,
        what: &'static str,
    ) -> Self {
        let runtime = master.runners.runtime().ok();
        Self(runtime.map(|runtime| {
            runtime.spawn(async move {
                sleep(time_max).await;
                tracing::error!("{what} takes longer than {time_max:?}, it is ended");
                cancel.signal(KILL);
            })
        }))
    }
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
