//! What the master does for a minion once its request is proven, one file per
//! family of commands.
//!
//! Invariant: a handler acts for the minion that the gate has proven, never for
//! an id that it finds in the request.

pub(crate) mod authenticate;
pub(crate) mod batch;
pub(crate) mod comparison;
mod events;
mod files;
pub(crate) mod low;
mod mine;
mod options;
mod peer;
mod peer_run;
mod pillar;
pub(crate) mod publish;
mod returns;
mod revoke;
pub(crate) mod sign_in;
pub(crate) mod standing;
mod tops;
mod whereabouts;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use halite_proto::request::{MinionRequest, Request};
use halite_proto::{Map, MinionId, Nonce, Value};

pub(crate) use peer::forget_publishers;

use crate::master::Master;

/// Who asks, and how the answer is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The proven minion.
    pub(crate) id: MinionId,
    /// The request's nonce.
    pub(crate) nonce: Option<Nonce>,
    /// How the key of a private answer is to be encrypted.
    pub(crate) enc_algo: Option<String>,
    /// How a private answer is to be signed, and how requests are.
    pub(crate) sig_algo: Option<String>,
}

/// What came of a request.
pub(crate) enum Handled {
    /// The answer, to be sealed.
    Value(Value),
    /// The answer, to be sealed as large ones are between Halite peers.
    Large(Value),
    /// The answer as it travels: sealed in its own way.
    Private(Value),
    /// An answer as it travels that has to be waited for; none if it never
    /// comes.
    PrivateLater(Pin<Box<dyn Future<Output = Option<Value>> + Send>>),
    /// An answer that has to be waited for.
    Later(Pin<Box<dyn Future<Output = Value> + Send>>),
}

impl Handled {
    /// What Salt's masters answer when a handler fails.
    pub(crate) fn failed() -> Self {
        Self::Value(Value::from(""))
    }

    /// What Salt's masters answer to what they do not know or do not allow.
    pub(crate) fn nothing() -> Self {
        Self::Value(Value::Map(Map::new()))
    }
}

impl<T: Into<Value>> From<T> for Handled {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

/// Handles a proven request.
pub(crate) fn handle(master: &Arc<Master>, caller: &Caller, request: Request) -> Handled {
    match &request.command {
        MinionRequest::Return(_) => returns::returned(master, caller, request),
        MinionRequest::MinionEvent(_) => events::fire(master, caller, &request),
        MinionRequest::RevokeAuth(revoke) => revoke::revoke(master, caller, *revoke, &request),
        _ => handle_command(master, caller, request.command),
    }
}

/// The jobs that a minion may have missed, from a memory that Salt's masters
/// do not have.
fn missed(master: &Master, caller: &Caller) -> Handled {
    let jobs = master.missed.of(&caller.id);
    if !jobs.is_empty() {
        tracing::info!(minion = %caller.id, jobs = jobs.len(), "told of jobs it may have missed");
    }
    jobs.into_iter().map(Value::Map).collect::<Vec<_>>().into()
}

fn handle_command(master: &Arc<Master>, caller: &Caller, command: MinionRequest) -> Handled {
    match command {
        MinionRequest::Replay => missed(master, caller),
        MinionRequest::Whereabouts(results) => whereabouts::note(master, caller, results),
        MinionRequest::Pillar(request) => pillar::pillar(master, caller, *request),
        MinionRequest::Mine(store) => mine::store(master, caller, store),
        MinionRequest::MineGet(get) => mine::get(master, caller, &get),
        MinionRequest::MineDelete(delete) => mine::delete(master, caller, &delete),
        MinionRequest::MineFlush => mine::flush(master, caller),
        MinionRequest::FileHash(_)
        | MinionRequest::FileHashAndStat(_)
        | MinionRequest::ServeFile(_)
        | MinionRequest::HeldFiles(_)
        | MinionRequest::FileFind(_)
        | MinionRequest::FileList(_)
        | MinionRequest::FileListEmptydirs(_)
        | MinionRequest::DirList(_)
        | MinionRequest::SymlinkList(_)
        | MinionRequest::FileEnvs => files::answer(master, caller, &command),
        MinionRequest::FileRecv(pushed) => files::receive(master, caller, &pushed),
        MinionRequest::MasterOpts(opts) => options::master_opts(master, opts).into(),
        MinionRequest::MinionPub(publish) => peer::publish(master, caller, &publish),
        MinionRequest::MinionPublish(publish) => peer::publish_and_wait(master, caller, &publish),
        MinionRequest::PubRet(ret) => peer::results(master, caller, &ret),
        // Nothing uses them yet; 3008 expects a yes, and tells of it.
        MinionRequest::RegisterResources(_) => {
            let data = Map::from([("Resource cache refresh", &caller.id)]);
            let tag = format!("resource/refresh/{}", caller.id);
            master.bus.fire(&tag, data);
            true.into()
        }
        MinionRequest::MinionRunner(request) => peer_run::run(master, caller, &request),
        MinionRequest::MasterTops(_) => tops::tops(master, caller),
        // Syndics come with `order_masters`.
        MinionRequest::SyndicReturn(_) => unknown(caller, "_syndic_return"),
        MinionRequest::VerifyMinion(_) => Handled::failed(),
        MinionRequest::Unknown { cmd, .. } => unknown(caller, cmd.as_deref().unwrap_or("")),
        // These three need the whole request, see `handle`.
        MinionRequest::Return(_) | MinionRequest::MinionEvent(_) | MinionRequest::RevokeAuth(_) => {
            Handled::failed()
        }
    }
}

fn unknown(caller: &Caller, cmd: &str) -> Handled {
    tracing::info!(minion = %caller.id, "not answering the unknown command {cmd:?}");
    Handled::nothing()
}
