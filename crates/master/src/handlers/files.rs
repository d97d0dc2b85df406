//! The files that minions fetch. What and how is the file server's business;
//! here its errors become what a failed handler answers.

use halite_fileserver::{ReadError, ReceiveError};
use halite_proto::Value;
use halite_proto::request::{FilePath, FileRecv, ServeFile};

use super::{Caller, Handled};
use crate::error::chain;
use crate::master::Master;

/// `_file_hash`.
pub(super) fn hash(master: &Master, caller: &Caller, file: &FilePath) -> Handled {
    handled(master, caller, master.files.answer_hash(file))
}

/// `_file_hash_and_stat`.
pub(super) fn hash_and_stat(master: &Master, caller: &Caller, file: &FilePath) -> Handled {
    handled(master, caller, master.files.answer_hash_and_stat(file))
}

/// `_serve_file`.
pub(super) fn serve(master: &Master, caller: &Caller, serve: &ServeFile) -> Handled {
    let handled = handled(master, caller, master.files.answer_serve(serve));
    match handled {
        Handled::Value(value) if serve.beyond.as_ref().is_some_and(|beyond| beyond.large) => {
            Handled::Large(value)
        }
        handled => handled,
    }
}

/// `_file_recv`: a piece of a file that the minion pushes.
pub(super) fn receive(master: &Master, caller: &Caller, pushed: &FileRecv) -> Handled {
    let id = &caller.id;
    let received = master.inbox.receive(id, pushed);
    match &received {
        Ok(()) => {}
        Err(error @ ReceiveError::Off) => {
            tracing::debug!(minion = %id, "refused a pushed file: {error}");
        }
        Err(error) if master.may_remark(id.as_str(), "pushed file") => {
            tracing::warn!(minion = %id, "refused a pushed file: {}", chain(error));
        }
        Err(_) => {}
    }
    received.is_ok().into()
}

fn handled(master: &Master, caller: &Caller, answer: Result<Value, ReadError>) -> Handled {
    match answer {
        Ok(answer) => answer.into(),
        Err(error) => {
            if master.may_remark(caller.id.as_str(), "file") {
                tracing::error!(minion = %caller.id, "{}", chain(&error));
            }
            Handled::failed()
        }
    }
}
