//! A bound PULL: the master's `publish_pull.ipc`, into which local programs
//! may push publish loads.

use std::collections::VecDeque;
use std::sync::Arc;

use tmq::pull::{Pull, pull};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, warn};

use super::bind::{Bound, bind, bind_file, unbind_file};
use super::context::context;
use super::options::Common;
use super::pump::{self, Frames};
use crate::contract::{KeepAlive, LocalPublishOptions};
use crate::counters::Count;
use crate::limits::{REMOVED_LISTENERS_MAX, SOCKET_FILES_CHECK};
use crate::socket_file::SocketFile;
use crate::{BindError, Counters, Endpoint, SocketError};

/// A bound socket that only takes messages in. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Puller {
    messages: mpsc::Receiver<Vec<u8>>,
    counters: Arc<Counters>,
    endpoints: Vec<Endpoint>,
    task: JoinHandle<()>,
}

impl Puller {
    /// Binds all `endpoints` and starts the task that owns the socket.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub(crate) fn bind(
        endpoints: &[Endpoint],
        options: LocalPublishOptions,
    ) -> Result<Self, BindError> {
        let bound = bound(endpoints, &options)?;
        let (sender, messages) = mpsc::channel(options.messages_max.max(1));
        let counters = Arc::new(Counters::default());
        let owner = Owner {
            socket: bound.socket,
            files: bound.files,
            removed: VecDeque::new(),
            messages: sender,
            counters: Arc::clone(&counters),
            options,
            is_failing: false,
        };
        Ok(Self {
            task: tokio::spawn(owner.run()),
            messages,
            counters,
            endpoints: bound.endpoints,
        })
    }

    /// The next message of one frame; `None` only when the socket has failed.
    pub(crate) async fn recv(&mut self) -> Option<Vec<u8>> {
        self.messages.recv().await
    }

    /// The bound endpoints, with the ports that were taken.
    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// What happened so far.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Accepts no more messages, and closes.
    pub(crate) async fn close(self) {
        let Self { messages, task, .. } = self;
        drop(messages);
        let _ = task.await;
    }
}

struct Owner {
    socket: Pull,
    files: Vec<SocketFile>,
    /// Socket files that were removed and whose listeners are still open.
    removed: VecDeque<SocketFile>,
    options: LocalPublishOptions,
    /// It was logged that a removed file cannot be created again.
    is_failing: bool,
    messages: mpsc::Sender<Vec<u8>>,
    counters: Arc<Counters>,
}

impl Owner {
    async fn run(mut self) {
        if let Err(error) = self.serve().await {
            error!(%error, "the pull socket failed");
        }
    }

    async fn serve(&mut self) -> Result<(), SocketError> {
        let mut safety = pump::safety_poll();
        let mut look = interval(SOCKET_FILES_CHECK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                frames = next(&self.messages, &mut self.socket) => match frames? {
                    Some(frames) => self.take(&frames),
                    None => return Ok(()),
                },
                () = self.messages.closed() => return Ok(()),
                _ = safety.tick() => {}
                _ = look.tick() => self.keep_files(),
            }
        }
    }

    /// Binds the files again that were removed.
    fn keep_files(&mut self) {
        for at in 0..self.files.len() {
            self.keep_file(at);
        }
    }

    fn keep_file(&mut self, at: usize) {
        let Some(file) = self.files.get_mut(at).filter(|file| file.is_removed()) else {
            return;
        };
        let path = file.path().to_owned();
        if let Some(parent) = path.parent() {
            // That it cannot be made is said by what comes next.
            let _ = std::fs::create_dir_all(parent);
        }
        match bind_file(&self.socket, &path, self.options.ipc_mode) {
            Ok(again) => {
                self.removed.push_back(std::mem::replace(file, again));
                if self.removed.len() > REMOVED_LISTENERS_MAX
                    && let Some(oldest) = self.removed.pop_front()
                {
                    unbind_file(&self.socket, &oldest);
                }
                self.is_failing = false;
                warn!(path = %path.display(), "the socket file had been removed; created it again");
            }
            Err(error) if !self.is_failing => {
                self.is_failing = true;
                warn!("the socket file was removed and cannot be created again: {error}");
            }
            Err(_) => {}
        }
    }

    fn take(&self, frames: &Frames) {
        match &frames[..] {
            [message] => {
                self.counters.add(Count::received);
                // There is room, or the program is gone.
                let _ = self.messages.try_send(message.to_vec());
            }
            _ => self.counters.add(Count::malformed),
        }
    }
}

fn bound(endpoints: &[Endpoint], options: &LocalPublishOptions) -> Result<Bound<Pull>, BindError> {
    let builder = Common {
        ipv6: endpoints.iter().any(Endpoint::is_ipv6),
        keep_alive: KeepAlive::PEER,
        linger: std::time::Duration::ZERO,
        message_bytes_max: options.message_bytes_max,
    }
    .set(pull(&context()));
    bind(builder, endpoints, options.ipc_mode)
}

/// The next message, once the program has room for it.
async fn next(
    messages: &mpsc::Sender<Vec<u8>>,
    socket: &mut Pull,
) -> Result<Option<Frames>, SocketError> {
    if messages.reserve().await.is_err() {
        return Ok(None);
    }
    pump::receive(socket).await.map(Some)
}
