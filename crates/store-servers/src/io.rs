//! The one thread of a process on which all drivers run.
//!
//! It starts with the first operation, so that a daemon has forked by then.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, LocalSet};

type Task = Pin<Box<dyn Future<Output = ()>>>;
type Begin = Box<dyn FnOnce() -> Task + Send>;

/// As each caller waits for its task, there are no more than callers.
static TASKS: OnceLock<Option<UnboundedSender<Begin>>> = OnceLock::new();

/// Runs a task on the thread and waits for what it gives; `None` if there is
/// none in time, or no thread.
pub(crate) fn wait<T, F>(limit: Duration, begin: impl FnOnce() -> F + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
{
    let (sender, receiver) = sync_channel(1);
    let tasks = TASKS.get_or_init(start).as_ref()?;
    let task: Begin = Box::new(move || {
        let task = begin();
        Box::pin(async move {
            // Nobody waits any more if this fails.
            let _ = sender.send(task.await);
        })
    });
    tasks.send(task).ok()?;
    receiver.recv_timeout(limit).ok()
}

/// Runs a task beside others. Only for what runs on the thread already.
pub(crate) fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> JoinHandle<T> {
    tokio::task::spawn_local(task)
}

fn start() -> Option<UnboundedSender<Begin>> {
    let (sender, mut receiver) = unbounded_channel::<Begin>();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .inspect_err(|error| tracing::error!(%error, "no thread for the servers of the store"))
        .ok()?;
    let run = move || {
        LocalSet::new().block_on(&runtime, async move {
            while let Some(begin) = receiver.recv().await {
                tokio::task::spawn_local(begin());
            }
        });
    };
    std::thread::Builder::new()
        .name("store-servers".to_owned())
        .spawn(run)
        .inspect_err(|error| tracing::error!(%error, "no thread for the servers of the store"))
        .ok()?;
    Some(sender)
}
