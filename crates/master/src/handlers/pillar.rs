//! The pillar of a minion: compiled on threads of its own, signed, encrypted and stored.

use std::borrow::Cow;
use std::future::ready;
use std::sync::Arc;

use halite_crypto::{Crypticle, KeyError, SymmetricKey};
use halite_pillar::Request;
use halite_proto::pillar::{PillarAnswer, PillarData, PillarReply, SignedPillar};
use halite_proto::request::PillarRequest;
use halite_proto::{Map, MinionId, Nonce, PackError};
use halite_store::Bank;
use thiserror::Error;
use tokio::sync::oneshot;

use super::{Caller, Handled};
use crate::core::gate::Cause;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::fleet::Fleet;
use crate::keys::accepted::KeyMark;
use crate::keys::{Keys, encryption_algorithm, signing_algorithm};
use crate::pillar::pillars::Pillars;

/// The answer to the minion when its pillar cannot be compiled.
const BAD_LOAD: &str = "bad load";
/// The same, when the request cannot be bound to an answer.
const NO_NONCE: &str = "Nonce not included in request";

/// Why a pillar is not delivered.
#[derive(Debug, Error)]
enum PillarError {
    #[error("the minion's key is no longer accepted")]
    NoKey,
    #[error("the minion asks for an unknown algorithm")]
    Algorithm(#[from] halite_crypto::UnknownAlgorithm),
    #[error("could not encrypt or sign the pillar")]
    Key(#[from] KeyError),
    #[error("could not pack the pillar")]
    Pack(#[from] PackError),
}

/// The parts of the master that requests for pillars use.
#[derive(Clone)]
pub(super) struct PillarRequests {
    pub(super) bus: Arc<Bus>,
    pub(super) keys: Arc<Keys>,
    pub(super) fleet: Arc<Fleet>,
    pub(super) pillars: Arc<Pillars>,
}

/// Stores the grains, compiles the pillar and delivers it. If too many are being compiled
/// there is no answer, and the minion asks again.
pub(super) fn pillar(parts: PillarRequests, caller: &Caller, request: PillarRequest) -> Handled {
    let Some(nonce) = caller.nonce.clone() else {
        return Handled::Private(PillarAnswer::Error(NO_NONCE.to_owned()).to_value());
    };
    let Some(turn) = parts.pillars.turns.take(&caller.id) else {
        caller
            .telemetry
            .count_refusal(Cause::Overload, Some(&caller.id));
        return Handled::PrivateLater(Box::pin(ready(None)));
    };
    let (tell, told) = oneshot::channel();
    let work = {
        let (parts, caller) = (parts.clone(), caller.clone());
        move || {
            // Also when the work is dropped undone.
            let _turn = turn;
            let answer = answer(&parts, &caller, nonce, request);
            // Nobody waits any more when the daemon stops.
            let _ = tell.send(answer.to_value());
        }
    };
    if parts.pillars.submit(work).is_err() {
        caller
            .telemetry
            .count_refusal(Cause::Overload, Some(&caller.id));
    }
    Handled::PrivateLater(Box::pin(async move { told.await.ok() }))
}

fn answer(
    parts: &PillarRequests,
    caller: &Caller,
    nonce: Nonce,
    mut request: PillarRequest,
) -> PillarAnswer {
    let mut grains = std::mem::take(&mut request.grains);
    // Files that ask the grains who the minion is, must not be lied to.
    grains.insert("id", &caller.id);
    let grains = Arc::new(grains);
    let wanted = Request {
        id: caller.id.to_string(),
        grains: Arc::clone(&grains),
        saltenv: request.saltenv.take(),
        pillarenv: request.pillarenv.clone(),
        overrides: std::mem::take(&mut request.pillar_override),
        extra_minion_data: std::mem::take(&mut request.extra_minion_data),
        ext: request.ext.take(),
        ..Request::default()
    };
    let clean_cache = request.clean_cache == Some(true);
    let key = parts.keys.accepted.get(&caller.id).map(|key| key.mark);
    let key = key.as_ref().map(KeyMark::as_str);
    let pillar = parts.pillars.pillar(&wanted, key, clean_cache);
    let env = parts.pillars.env_of(&wanted);
    let kept = kept_of(parts, wanted, (key, clean_cache), &pillar);
    keep(parts, caller, &grains, env.as_deref(), kept.as_deref());
    let data = PillarData {
        key: Vec::new(),
        pillar,
        nonce,
    };
    match seal(&parts.keys, caller, data) {
        Ok(reply) => PillarAnswer::Private(reply),
        Err(error) => {
            tracing::error!(minion = %caller.id, "could not deliver the pillar: {}", chain(&error));
            PillarAnswer::Error(BAD_LOAD.to_owned())
        }
    }
}

/// The part of a pillar that is stored. It decides targets and rights, so it contains
/// only what the master compiled, without what the minion added.
fn kept_of<'a>(
    parts: &PillarRequests,
    wanted: Request,
    (key, clean_cache): (Option<&str>, bool),
    pillar: &'a Map,
) -> Option<Cow<'a, Map>> {
    let is_on = parts.fleet.settings.keeps_data;
    if !is_on || !wanted.overrides.is_empty() || wanted.ext.is_some() {
        return None;
    }
    if !parts.pillars.takes_minion_data(&wanted) {
        return Some(Cow::Borrowed(pillar));
    }
    // The minion says it each time: what is kept would never be new.
    let plain = Request {
        extra_minion_data: Map::new(),
        ..wanted
    };
    Some(Cow::Owned(parts.pillars.pillar(&plain, key, clean_cache)))
}

fn seal(keys: &Keys, caller: &Caller, mut data: PillarData) -> Result<PillarReply, PillarError> {
    let minion = keys
        .accepted
        .public_key(&caller.id)
        .ok_or(PillarError::NoKey)?;
    let enc_algo = encryption_algorithm(caller.enc_algo.as_deref())?;
    let sig_algo = signing_algorithm(caller.sig_algo.as_deref())?;
    let key = SymmetricKey::generate();
    data.key = minion.encrypt(enc_algo, key.expose().as_bytes())?;
    let packed = data.encode()?;
    let signed = SignedPillar {
        sig: keys.identity.private().sign(sig_algo, &packed)?,
        data: packed,
    };
    Ok(PillarReply {
        pillar: Crypticle::new(&key).seal(&signed.encode()?, None),
        key: data.key,
    })
}

/// Stores what the request says about the minion, and logs a failure.
fn keep(
    parts: &PillarRequests,
    caller: &Caller,
    grains: &Map,
    pillarenv: Option<&str>,
    pillar: Option<&Map>,
) {
    let (id, fleet) = (&caller.id, &parts.fleet);
    if !fleet.settings.keeps_data {
        return;
    }
    // What the pillar of an environment is kept as, is not to be the name of
    // another minion.
    let is_name = |env: &&str| {
        MinionId::parse(format!("{id}:{env}"))
            .is_ok_and(|id| parts.keys.accepted.get(&id).is_some())
    };
    let grains_kept = fleet.data.put(Bank::Grains, id, grains);
    if let (Err(error), Some(pillar), None) = (&grains_kept, pillar, pillarenv) {
        fleet.data.put_later(Bank::Pillar, id, pillar, error);
    }
    let stored = grains_kept.and_then(|()| match (pillar, pillarenv.filter(is_name)) {
        (None, _) => Ok(true),
        (Some(_), Some(_)) => Ok(false),
        (Some(pillar), None) => fleet.data.put_pillar(id, pillarenv, pillar),
    });
    match stored {
        Ok(true) => {}
        Ok(false) => {
            if caller.may_log("pillarenv") {
                tracing::warn!(
                    minion = %id,
                    "the pillar of a further environment is not cached for targeting: the minion \
                     has asked for too many, or the name cannot be a file name"
                );
            }
        }
        Err(error) => {
            if caller.may_log("data") {
                tracing::error!(
                    minion = %id,
                    "could not store the minion's data: {}",
                    chain(&error)
                );
            }
        }
    }
    if fleet.settings.data_cache_events {
        let data = Map::from([("Minion data cache refresh", id)]);
        parts.bus.fire(&format!("minion/refresh/{id}"), data);
    }
}
