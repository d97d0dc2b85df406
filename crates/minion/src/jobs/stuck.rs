//! Killed jobs that do not end.
//!
//! No signal ends a thread that waits in the kernel. Its job is given up after a
//! while, and a later result is dropped.

use halite_call::{Cancel, Over};
use tokio::task::JoinHandle;
use tracing::error;

use crate::limits::{JOB_KILLED_GOES_ON_MAX, JOB_KILLED_LOOK};

/// Waits for the thread of a job; nothing if it goes on although it was killed,
/// which is logged. Else what it leaves behind, nothing if it died: a function
/// that panics has a return.
pub(crate) async fn unless_given_up<T>(
    mut thread: JoinHandle<T>,
    cancel: &Cancel,
) -> Option<Option<T>> {
    let ended = tokio::select! {
        ended = &mut thread => ended,
        () = overdue(cancel) => {
            if cancel.close(Over::GivenUp) {
                error!("the job was killed but continues: it is no longer waited for");
                return None;
            }
            thread.await
        }
    };
    let ended = ended.inspect_err(|cause| error!(%cause, "the thread of the job panicked"));
    Some(ended.ok())
}

/// Waits until a job that was killed has had its time.
async fn overdue(cancel: &Cancel) {
    while !cancel.is_killed() {
        tokio::time::sleep(JOB_KILLED_LOOK).await;
    }
    tokio::time::sleep(JOB_KILLED_GOES_ON_MAX).await;
}
