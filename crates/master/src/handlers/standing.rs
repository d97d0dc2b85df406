//! What this master knows of single minions, for programs that wait for them.

use std::collections::BTreeSet;

use halite_key::KeyState;
use halite_proto::clear::{Standing, StandingReply, StandingRequest};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_transport::fleet::Origin;

use crate::access::Access;
use crate::access::authenticate::LocalUser;
use crate::core::acl::Rights;
use crate::core::owner::is_of;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::limits::{STANDING_JOBS_MAX, STANDING_STRANGERS_MAX};

/// The parts of the master that know of minions.
#[derive(Clone, Copy)]
pub(crate) struct Standings<'a> {
    pub(super) keys: &'a Keys,
    pub(super) jobs: &'a Jobs,
    pub(super) fleet: &'a Fleet,
    pub(super) access: &'a Access,
}

impl Standings<'_> {
    /// Answers the question; with an empty map, as Salt's masters, where the
    /// caller is nobody. Also whether the answer is to take its time.
    pub(crate) fn answer(self, request: &StandingRequest) -> (Value, bool) {
        let user = request.user.as_deref();
        let caller = match self.access.authenticate(&request.credentials, user) {
            Ok(caller) => caller,
            Err(unproven) => return (Map::new().into(), unproven.is_slow()),
        };
        let name = caller.name.as_deref().or(user);
        let mut addresses = None;
        let minions = self
            .may_ask_about(request, &caller, name)
            .into_iter()
            .map(|id| {
                let connection = self.fleet.connection(&id, &mut addresses);
                let key = key_state(self.keys, &id);
                let clones = self.fleet.clones_of(&id);
                let result_at = request
                    .about
                    .as_ref()
                    .and_then(|jid| self.jobs.holder(jid, &id));
                let standing = Standing {
                    key,
                    connection,
                    at: self.fleet.attendance.master_of(&id),
                    result_at,
                    distrusts_since: self.fleet.attendance.distrusted_by(&id),
                    clones: clones.iter().map(Origin::to_string).collect(),
                };
                (id, standing)
            })
            .collect();
        let reply = StandingReply {
            started: self.fleet.attendance.started_micros,
            minions,
            returns: request
                .jids
                .iter()
                .take(STANDING_JOBS_MAX)
                .filter_map(|jid| {
                    Some((
                        Value::from(jid),
                        Value::from(returns(self.jobs, &caller, name, jid)?),
                    ))
                })
                .collect(),
        };
        (reply.to_value(), false)
    }

    /// The minions of the question that are looked up: for users with limited rights,
    /// those that got their own jobs.
    fn may_ask_about(
        self,
        request: &StandingRequest,
        caller: &LocalUser,
        name: Option<&str>,
    ) -> BTreeSet<MinionId> {
        let most = self.keys.accepted.list().len() + STANDING_STRANGERS_MAX;
        let asked = request.minions.iter().take(most);
        let mut asked: BTreeSet<MinionId> = asked
            .filter_map(|id| MinionId::parse(id.as_str()).ok())
            .collect();
        if caller.rights != Rights::Full {
            let jids = request.about.iter().chain(&request.jids);
            let jids = jids.take(STANDING_JOBS_MAX);
            let loads = jids.filter_map(|jid| load_of(self.jobs, caller, name, jid));
            let meant: BTreeSet<String> = loads.flat_map(|load| meant_by(&load)).collect();
            asked.retain(|id| meant.contains(id.as_str()));
        }
        asked
    }
}

/// The returns of a job so far, if it is the caller's.
fn returns(jobs: &Jobs, caller: &LocalUser, name: Option<&str>, jid: &Jid) -> Option<Map> {
    load_of(jobs, caller, name, jid)?;
    let returns = jobs.cache.returns(jid).ok()?.into_iter();
    Some(
        returns
            .map(|(id, stored)| (Value::from(&id), Value::from(stored.into_map())))
            .collect(),
    )
}

/// The load of a job, if the caller published it.
fn load_of(jobs: &Jobs, caller: &LocalUser, name: Option<&str>, jid: &Jid) -> Option<Map> {
    let load = jobs.cache.load(jid).ok()??;
    let is_theirs = is_of(&load, name, Some(&caller.proven_by));
    (caller.rights == Rights::Full || is_theirs).then_some(load)
}

/// The minions that a job was for.
fn meant_by(load: &Map) -> Vec<String> {
    let minions = load.get("Minions").and_then(Value::as_list);
    let ids = minions.unwrap_or_default().iter();
    ids.filter_map(|id| id.as_str().map(str::to_owned))
        .collect()
}

fn key_state(keys: &Keys, id: &MinionId) -> Option<String> {
    if keys.accepted.get(id).is_some() {
        return Some(KeyState::Accepted.word().to_owned());
    }
    let states = [KeyState::Pending, KeyState::Rejected, KeyState::Denied];
    let state = states
        .into_iter()
        .find(|state| matches!(keys.store.get(*state, id), Ok(Some(_))));
    state.map(|state| state.word().to_owned())
}
