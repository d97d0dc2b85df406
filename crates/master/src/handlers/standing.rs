//! What this master knows of single minions, for programs that wait for them.

use std::sync::PoisonError;

use halite_key::KeyState;
use halite_proto::clear::{Connection, Standing, StandingReply, StandingRequest};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::Bank;

use super::authenticate::{LocalUser, authenticate};
use crate::core::acl::Rights;
use crate::core::roster::Seat;
use crate::fleet::connected::Addresses;
use crate::master::Master;

/// Answers the question; with an empty map, as Salt's masters, where the
/// caller is nobody. Also whether the answer is to take its time.
pub(crate) fn standing(master: &Master, request: &StandingRequest) -> (Value, bool) {
    let user = request.user.as_deref();
    let caller = match authenticate(master, &request.credentials, user) {
        Ok(caller) => caller,
        Err(unproven) => return (Map::new().into(), unproven.is_slow()),
    };
    let name = caller.name.as_deref().or(user);
    let mut addresses = None;
    let minions = request
        .minions
        .iter()
        .filter_map(|id| MinionId::parse(id.as_str()).ok())
        .map(|id| {
            let connection = match master.attendance.seat(&id) {
                Some(Seat::Here(since)) => Connection::Here(since),
                Some(Seat::Away(since)) => Connection::Away(since),
                None => {
                    let port = master.settings.publish_port;
                    let addresses = addresses.get_or_insert_with(|| Addresses::read(port));
                    estimated(master, &id, addresses)
                }
            };
            let key = key_state(master, &id);
            let result_at = request
                .about
                .as_ref()
                .and_then(|jid| result_at(master, jid, &id));
            let standing = Standing {
                key,
                connection,
                result_at,
            };
            (id, standing)
        })
        .collect();
    let reply = StandingReply {
        started: master.attendance.started_micros,
        minions,
        returns: request
            .jids
            .iter()
            .filter_map(|jid| {
                Some((
                    Value::from(jid),
                    Value::from(returns(master, &caller, name, jid)?),
                ))
            })
            .collect(),
    };
    (reply.to_value(), false)
}

/// The returns of a job so far, if it is the caller's.
fn returns(master: &Master, caller: &LocalUser, name: Option<&str>, jid: &Jid) -> Option<Map> {
    let load = master.jobs.load(jid).ok()??;
    let is_theirs = name.is_some() && load.get("user").and_then(Value::as_str) == name;
    if caller.rights != Rights::Full && !is_theirs {
        return None;
    }
    let returns = master.jobs.returns(jid).ok()?.into_iter();
    Some(
        returns
            .map(|(id, stored)| (Value::from(&id), Value::from(stored.into_map())))
            .collect(),
    )
}

fn result_at(master: &Master, jid: &Jid, id: &MinionId) -> Option<String> {
    let elsewhere = &master.elsewhere;
    let elsewhere = elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
    elsewhere.of(jid, id).map(str::to_owned)
}

fn estimated(master: &Master, id: &MinionId, addresses: &Addresses) -> Connection {
    match master.data.get(Bank::Grains, id) {
        Ok(Some(grains)) if addresses.are_of(&grains) => Connection::PerhapsHere,
        Ok(Some(_)) => Connection::PerhapsAway,
        Ok(None) | Err(_) => Connection::Unknown,
    }
}

fn key_state(master: &Master, id: &MinionId) -> Option<String> {
    if master.accepted.get(id).is_some() {
        return Some(KeyState::Accepted.word().to_owned());
    }
    let states = [KeyState::Pending, KeyState::Rejected, KeyState::Denied];
    let state = states
        .into_iter()
        .find(|state| matches!(master.keys.get(*state, id), Ok(Some(_))));
    state.map(|state| state.word().to_owned())
}
