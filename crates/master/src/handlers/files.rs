//! The files that minions fetch. The file server decides what is served and how;
//! here its errors become the answer of a failed handler.

use halite_fileserver::ReceiveError;
use halite_proto::request::{FileRecv, MinionRequest};

use super::{Caller, Handled};
use crate::error::chain;
use crate::files::Files;

/// Every request for files that the master serves.
pub(super) fn answer(files: &Files, caller: &Caller, command: &MinionRequest) -> Handled {
    match files.server.answer(command) {
        Some(Ok(answer)) if is_large(command) => Handled::Large(answer),
        Some(Ok(answer)) => answer.into(),
        Some(Err(error)) => {
            if caller.may_log("file") {
                tracing::error!(minion = %caller.id, "{}", chain(&error));
            }
            Handled::failed()
        }
        None => Handled::failed(),
    }
}

/// Whether the minion takes the answer sealed as large ones are.
fn is_large(command: &MinionRequest) -> bool {
    let MinionRequest::ServeFile(serve) = command else {
        return false;
    };
    serve.beyond.as_ref().is_some_and(|beyond| beyond.large)
}

/// `_file_recv`: a piece of a file that the minion pushes.
pub(super) fn receive(files: &Files, caller: &Caller, pushed: &FileRecv) -> Handled {
    let id = &caller.id;
    let received = files.inbox.receive(id, pushed);
    match &received {
        Ok(()) => {}
        Err(error @ ReceiveError::Off) => {
            tracing::debug!(minion = %id, "refused a pushed file: {error}");
        }
        Err(error) if caller.may_log("pushed file") => {
            tracing::warn!(minion = %id, "refused a pushed file: {}", chain(error));
        }
        Err(_) => {}
    }
    received.is_ok().into()
}
