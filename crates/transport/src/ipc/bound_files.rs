//! The socket files of a bus, which somebody may remove while it is used.
//!
//! Invariant: a missing file is made again; a file that somebody has put in its
//! place is left alone.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::warn;

use super::bus::Hub;
use super::bus_connection::{Side, accept};
use super::stream::Listener;
use crate::limits::SOCKET_FILES_CHECK;
use crate::socket_file::SocketFile;
use crate::{BindError, Endpoint};

/// A socket file, and who serves it.
#[derive(Debug)]
pub(super) struct BoundFile {
    pub(super) file: SocketFile,
    pub(super) side: Side,
    pub(super) accepting: JoinHandle<()>,
}

/// The state needed to serve a place.
#[derive(Debug)]
pub(super) struct Acceptor {
    pub(super) hub: Arc<Hub>,
    /// Changes when the bus closes.
    pub(super) ends: watch::Receiver<()>,
    /// Dropped by the last connection.
    pub(super) running: mpsc::Sender<()>,
}

impl Acceptor {
    /// Accepts connections until the bus closes.
    pub(super) fn serve(&self, listener: Listener, side: Side) -> JoinHandle<()> {
        let (hub, ends) = (Arc::clone(&self.hub), self.ends.clone());
        tokio::spawn(accept(listener, side, hub, ends, self.running.clone()))
    }

    /// Makes files again that were removed, until the bus closes.
    pub(super) async fn keep(self, files: Arc<Mutex<Vec<BoundFile>>>) {
        let mut ends = self.ends.clone();
        let mut is_logged = false;
        loop {
            tokio::select! {
                () = sleep(SOCKET_FILES_CHECK) => {}
                _ = ends.changed() => return,
            }
            // Whoever removes them at the end holds the lock, and leaves none.
            let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
            for bound in files.iter_mut().filter(|bound| bound.file.is_removed()) {
                match self.bind_again(bound) {
                    Ok(()) => {
                        let path = bound.file.path().display();
                        warn!(%path, "the socket file had been removed; created it again");
                        is_logged = false;
                    }
                    Err(error) if !is_logged => {
                        warn!("the socket file was removed and cannot be created again: {error}");
                        is_logged = true;
                    }
                    Err(_) => {}
                }
            }
        }
    }

    fn bind_again(&self, bound: &mut BoundFile) -> Result<(), BindError> {
        let path = bound.file.path().to_owned();
        let mode = match bound.side {
            Side::Subscribers => self.hub.options.publish_mode,
            Side::Senders => self.hub.options.pull_mode,
        };
        if let Some(parent) = path.parent() {
            // That it cannot be made is said by what comes next.
            let _ = std::fs::create_dir_all(parent);
        }
        let (listener, file, _) = Listener::bind(&Endpoint::ipc(&path), mode)?;
        if let Some(file) = file {
            bound.accepting.abort();
            bound.accepting = self.serve(listener, bound.side);
            bound.file = file;
        }
        Ok(())
    }
}
