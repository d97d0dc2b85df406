//! The files that minions fetch. What and how is the file server's business;
//! here its errors become what a failed handler answers.

use halite_fileserver::ReadError;
use halite_proto::Value;
use halite_proto::request::{FilePath, ServeFile};

use super::{Caller, Handled};
use crate::error::chain;
use crate::master::Master;

/// `_file_hash`.
pub(super) fn hash(master: &Master, caller: &Caller, file: &FilePath) -> Handled {
    handled(caller, master.files.answer_hash(file))
}

/// `_file_hash_and_stat`.
pub(super) fn hash_and_stat(master: &Master, caller: &Caller, file: &FilePath) -> Handled {
    handled(caller, master.files.answer_hash_and_stat(file))
}

/// `_serve_file`.
pub(super) fn serve(master: &Master, caller: &Caller, serve: &ServeFile) -> Handled {
    let handled = handled(caller, master.files.answer_serve(serve));
    match handled {
        Handled::Value(value) if serve.beyond.as_ref().is_some_and(|beyond| beyond.large) => {
            Handled::Large(value)
        }
        handled => handled,
    }
}

fn handled(caller: &Caller, answer: Result<Value, ReadError>) -> Handled {
    match answer {
        Ok(answer) => answer.into(),
        Err(error) => {
            tracing::error!(minion = %caller.id, "{}", chain(&error));
            Handled::failed()
        }
    }
}
