//! What the master does for a minion once its request is proven, one file per
//! family of commands.
//!
//! Invariant: a handler acts for the minion that the gate has proven, never for
//! an id that it finds in the request.

pub(crate) mod batch;
pub(crate) mod comparison;
mod events;
mod files;
pub(crate) mod low;
mod mine;
mod options;
mod own_job;
mod parts;
mod peer;
mod peer_run;
mod pillar;
pub(crate) mod publish;
mod replay;
mod return_pieces;
mod return_room;
mod returns;
mod revoke;
pub(crate) mod sign_in;
mod signatures;
pub(crate) mod standing;
mod tops;
mod whereabouts;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use halite_proto::request::{MinionRequest, Request};
use halite_proto::{Map, MinionId, Nonce, Value};
use halite_transport::fleet::Origin;

use crate::master::Master;
use crate::telemetry::Telemetry;

/// The minion that asks, and how its answer is encoded.
#[derive(Clone)]
pub(crate) struct Caller {
    /// The proven minion.
    pub(crate) id: MinionId,
    /// Where its request comes from.
    pub(crate) from: Origin,
    /// Whether its request says that it is of a minion of Halite.
    pub(crate) is_halite: bool,
    /// The request's nonce.
    pub(crate) nonce: Option<Nonce>,
    /// How the key of a private answer is to be encrypted.
    pub(crate) enc_algo: Option<String>,
    /// How a private answer is to be signed, and how requests are.
    pub(crate) sig_algo: Option<String>,
    /// Where what is remarked about it is counted.
    pub(crate) telemetry: Arc<Telemetry>,
}

impl Caller {
    /// Whether a remark about this minion is to be logged.
    pub(crate) fn may_log(&self, what: &'static str) -> bool {
        self.telemetry.may_log(self.id.as_str(), what)
    }
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
    /// An answer that has to be waited for, and has a place for that.
    Held(Pin<Box<dyn Future<Output = Value> + Send>>),
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

/// Handles a proven request: hands each handler the parts of the master that it
/// uses.
pub(crate) fn handle(master: &Master, caller: &Caller, request: Request) -> Handled {
    match &request.command {
        MinionRequest::Return(_) => master.returns().store(caller, request),
        MinionRequest::ReturnPiece(_) => return_pieces::take(master.returns(), caller, request),
        MinionRequest::MinionEvent(_) => events::fire(master.firing(), caller, &request),
        MinionRequest::RevokeAuth(revoke) => {
            let Master {
                keys,
                fleet,
                publishing,
                ..
            } = master;
            revoke::revoke((keys, fleet, publishing), caller, *revoke, &request)
        }
        _ => handle_command(master, caller, request.command),
    }
}

fn handle_command(master: &Master, caller: &Caller, command: MinionRequest) -> Handled {
    let Master {
        general,
        bus,
        jobs,
        fleet,
        files,
        runners,
        ..
    } = master;
    let opts = &general.opts;
    match command {
        MinionRequest::Replay(replay) => replay::answer(master, caller, &replay),
        MinionRequest::Whereabouts(results) => whereabouts::record(jobs, caller, results),
        MinionRequest::Pillar(request) => {
            pillar::pillar(master.pillar_requests(), caller, *request)
        }
        MinionRequest::Mine(store) => mine::store(fleet, caller, store),
        MinionRequest::MineGet(get) => mine::get(fleet, caller, &get),
        MinionRequest::MineDelete(delete) => mine::delete(fleet, caller, &delete),
        MinionRequest::MineFlush => mine::flush(fleet, caller),
        MinionRequest::FileHash(_)
        | MinionRequest::FileHashAndStat(_)
        | MinionRequest::ServeFile(_)
        | MinionRequest::HeldFiles(_)
        | MinionRequest::Commits(_)
        | MinionRequest::FileFind(_)
        | MinionRequest::FileList(_)
        | MinionRequest::FileListEmptydirs(_)
        | MinionRequest::DirList(_)
        | MinionRequest::SymlinkList(_)
        | MinionRequest::FileEnvs => files::answer(files, caller, &command),
        MinionRequest::FileRecv(pushed) => files::receive(files, caller, &pushed),
        MinionRequest::MasterOpts(asked) => options::master_opts(opts, files, asked).into(),
        MinionRequest::MinionPub(publish) => master.peer_jobs().publish(caller, &publish),
        MinionRequest::MinionPublish(publish) => {
            master.peer_jobs().publish_and_wait(caller, &publish)
        }
        MinionRequest::PubRet(ret) => peer::results(jobs, caller, &ret),
        // 3008 expects a yes, and tells of it.
        MinionRequest::RegisterResources(registered) => {
            fleet.resources.register(&caller.id, &registered.resources);
            let data = Map::from([("Resource cache refresh", &caller.id)]);
            let tag = format!("resource/refresh/{}", caller.id);
            bus.fire(&tag, data);
            true.into()
        }
        MinionRequest::MinionRunner(request) => peer_run::run(runners, caller, &request),
        MinionRequest::MasterTops(_) => {
            tops::tops(&master.pillars, &master.functions, fleet, caller)
        }
        // Syndics come with `order_masters`.
        MinionRequest::SyndicReturn(_) => unknown(caller, "_syndic_return"),
        MinionRequest::VerifyMinion(_) => Handled::failed(),
        MinionRequest::Unknown { cmd, .. } => unknown(caller, cmd.as_deref().unwrap_or("")),
        // These need the whole request, see `handle`.
        MinionRequest::Return(_)
        | MinionRequest::ReturnPiece(_)
        | MinionRequest::MinionEvent(_)
        | MinionRequest::RevokeAuth(_) => Handled::failed(),
    }
}

fn unknown(caller: &Caller, cmd: &str) -> Handled {
    tracing::info!(minion = %caller.id, "not answering the unknown command {cmd:?}");
    Handled::nothing()
}
