//! The library's context: one per process, with one I/O thread.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

static CONTEXT: Mutex<Option<tmq::Context>> = Mutex::new(None);

/// The process-wide context, made on first use.
pub(super) fn context() -> tmq::Context {
    let mut slot = CONTEXT.lock().unwrap_or_else(PoisonError::into_inner);
    // A new context has one I/O thread: enough for a loopback's bandwidth, and
    // a second one would cost every process memory.
    slot.get_or_insert_with(tmq::Context::new).clone()
}

/// Waits until every socket that was dropped has sent what it lingers for and
/// its port and file are free, at most for `limit`. To be called last; a later
/// socket starts a new context. Returns whether all is done.
pub(crate) async fn terminate(limit: Duration) -> bool {
    let context = CONTEXT
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(mut context) = context else {
        return true;
    };
    let (done, wait) = oneshot::channel();
    // The library's call cannot be interrupted; at the limit its thread is left.
    let spawned = thread::Builder::new()
        .name("zmq-terminate".to_owned())
        .spawn(move || {
            let _ = context.destroy();
            let _ = done.send(());
        });
    spawned.is_ok() && matches!(timeout(limit, wait).await, Ok(Ok(())))
}
