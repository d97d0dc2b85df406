//! From the bytes of a request to the bytes of its answer.
//!
//! Invariant: every request gets an answer, except refused sign-ins of one address
//! beyond its budget. An unproven request gets only the refusal that Salt gives for
//! its kind.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use halite_crypto::{Crypticle, Opened};
use halite_proto::envelope::{RequestEnvelope, large_head, sealed_head};
use halite_proto::msgpack::{pack_wire, pack_wire_parts};
use halite_proto::request::{MinionRequest, Request};
use halite_proto::{Map, MinionId, Nonce, PackError, Refusal, Value};
use halite_transport::fleet::{Incoming, Origin};

use crate::clock::now_s;
use crate::core::gate::{self, Cause, Denied};
use crate::core::history::Change;
use crate::core::lane::{Lane, lane_of_envelope};
use crate::error::chain;
use crate::handlers::{self, Caller, Handled};
use crate::keys::sessions::Session;
use crate::master::Master;
use crate::serving::Serving;
use crate::serving::{clear_requests, old_versions};

/// The protocol version whose requests are sealed with a session key.
const VERSION_SESSIONS: u32 = 3;

/// The answer to a request.
pub(crate) enum Answer {
    /// The answer is ready.
    Now(Vec<u8>),
    /// The answer has to be waited for, and has a place for that.
    Held(Pin<Box<dyn Future<Output = Vec<u8>> + Send>>),
    /// The answer has to be waited for.
    Later(Pin<Box<dyn Future<Output = Vec<u8>> + Send>>),
    /// The answer is ready but sent late, because a refused sender may be guessing.
    Slow(Vec<u8>),
    /// No answer: the sender has had too many.
    Nothing,
    /// The workers of another lane have to answer.
    Elsewhere(Lane),
}

/// How answers to a proven request are sealed.
#[derive(Clone)]
pub(crate) enum Seal {
    /// With the session key and the request's nonce.
    Session(Arc<Session>, Nonce),
    /// With the publish key, for versions without sessions.
    PublishKey(Crypticle, Option<Nonce>),
}

impl Seal {
    /// The bytes of a sealed answer.
    fn encode(&self, value: &Value) -> Vec<u8> {
        self.try_encode(value)
            .unwrap_or_else(|error| cannot_pack(&error))
    }

    /// The bytes of an answer that may be large, to a Halite peer.
    fn encode_large(&self, value: &Value) -> Vec<u8> {
        self.try_encode_large(value)
            .unwrap_or_else(|error| cannot_pack(&error))
    }

    fn try_encode_large(&self, value: &Value) -> Result<Vec<u8>, PackError> {
        let Self::Session(session, nonce) = self else {
            return self.try_encode(value);
        };
        let packed = pack_wire_parts(value)?;
        let parts = packed.slices();
        let bytes = parts.iter().map(|part| part.len()).sum();
        let head = large_head(Crypticle::large_len(bytes))?;
        let nonce = nonce.as_str().as_bytes();
        Ok(session.crypticle.seal_large(&head, &parts, nonce))
    }

    /// A piece of a file is copied nowhere on its way from the disk, but
    /// encrypted into the message that leaves.
    fn try_encode(&self, value: &Value) -> Result<Vec<u8>, PackError> {
        let (crypticle, nonce) = match self {
            Self::Session(session, nonce) => (&session.crypticle, Some(nonce)),
            Self::PublishKey(crypticle, nonce) => (crypticle, nonce.as_ref()),
        };
        let nonce = nonce.map(|nonce| nonce.as_str().as_bytes());
        let packed = pack_wire_parts(value)?;
        let parts = packed.slices();
        let bytes = parts.iter().map(|part| part.len()).sum();
        let head = sealed_head(Crypticle::sealed_len(bytes, nonce))?;
        Ok(crypticle.seal_behind(&head, &parts, nonce))
    }
}

/// A request that has proven who sends it.
pub(crate) struct Admitted {
    /// The sender.
    pub(crate) caller: Caller,
    /// How to answer.
    pub(crate) seal: Seal,
    /// Its content, without the proof of its sender.
    pub(crate) load: Map,
}

/// Answers a request, if it is one for the workers of `lane`.
pub(crate) fn answer(serving: &Serving, incoming: &Incoming, lane: Lane) -> Answer {
    let Serving { master, settings } = serving;
    let payload = &incoming.payload;
    let minimum = settings.minimum_auth_version;
    let envelope = match RequestEnvelope::decode_from(payload, minimum) {
        Ok(envelope) => envelope,
        Err(error) => return Answer::Now(refuse(master, None, &error.into())),
    };
    if let Some(other) = lane_of_envelope(&envelope).filter(|of| *of != lane) {
        return Answer::Elsewhere(other);
    }
    match envelope {
        RequestEnvelope::Clear { load, version } => {
            clear_requests::answer(master, load, version, lane, incoming)
        }
        RequestEnvelope::Aes {
            load,
            id,
            version,
            enc_algo,
            sig_algo,
        } => {
            let admitted = match &id {
                Some(id) if version >= VERSION_SESSIONS => admit(serving, id, &load, incoming.from),
                _ => old_versions::admit(master, version, &load, incoming.from),
            };
            match admitted {
                Ok(mut admitted) => {
                    admitted.caller.enc_algo = enc_algo;
                    admitted.caller.sig_algo = sig_algo;
                    answer_admitted(master, admitted)
                }
                Err(denied) => Answer::Now(refuse(master, id.as_ref(), &denied)),
            }
        }
    }
}

/// Proves the sender of a sealed request.
fn admit(
    serving: &Serving,
    id: &MinionId,
    sealed: &[u8],
    from: Origin,
) -> Result<Admitted, Denied> {
    let Master {
        keys,
        telemetry,
        fleet,
        ..
    } = &*serving.master;
    let now = now_s();
    let accepted = keys.accepted.get(id).ok_or(Cause::NoSession)?;
    let (session, opened) = keys.sessions.open(id, &accepted, now, sealed)?;
    let packed = match opened {
        Opened::Payload(packed) => packed,
        // Authentic, but nothing of ours: an empty map, by convention.
        Opened::Empty => vec![EMPTY_MAP],
    };
    let mut load = gate::read_load(&packed)?;
    let seal = gate::check(&mut load, id, now, serving.settings.request_server_ttl_s)?;
    if !keys.accepted.proves(id, &seal.token) {
        return Err(Cause::BadToken.into());
    }
    Result::from(keys.sessions.admit(id, &session, &seal.nonce, seal.ts))?;
    fleet.attendance.asked(id, seal.shows_presence);
    Ok(Admitted {
        caller: Caller {
            from,
            id: id.clone(),
            is_halite: seal.shows_presence,
            nonce: Some(seal.nonce.clone()),
            enc_algo: None,
            sig_algo: None,
            telemetry: Arc::clone(telemetry),
        },
        seal: Seal::Session(session, seal.nonce),
        load,
    })
}

/// The packed empty map.
pub(crate) const EMPTY_MAP: u8 = 0x80;

fn answer_admitted(master: &Arc<Master>, admitted: Admitted) -> Answer {
    let Admitted { caller, seal, load } = admitted;
    let handled = match Request::from_map(load) {
        Ok(request) => {
            tracing::debug!(minion = %caller.id, "{}", request.command.cmd());
            let name = match &request.command {
                MinionRequest::Unknown { .. } => None,
                known => master.telemetry.stats.name(known.cmd()),
            };
            let handle = || handlers::handle(master, &caller, request);
            master.telemetry.stats.measure(&master.bus, name, handle)
        }
        Err(error) => {
            if master.telemetry.may_log(caller.id.as_str(), "unhandled") {
                tracing::warn!(minion = %caller.id, "a request cannot be handled: {}", chain(&error));
            }
            master
                .telemetry
                .count_refusal(Cause::Failed, Some(&caller.id));
            Handled::failed()
        }
    };
    master.telemetry.counters.serve();
    match handled {
        Handled::Value(value) => Answer::Now(seal.encode(&value)),
        Handled::Large(value) => Answer::Now(seal.encode_large(&value)),
        Handled::Private(value) => Answer::Now(encode(&value)),
        Handled::PrivateLater(value) => Answer::Later(Box::pin(async move {
            // No bytes are no answer.
            value.await.map_or_else(Vec::new, |value| encode(&value))
        })),
        Handled::Held(value) => Answer::Held(Box::pin(async move { seal.encode(&value.await) })),
        Handled::Later(value) => Answer::Later(Box::pin(async move { seal.encode(&value.await) })),
    }
}

fn refuse(master: &Master, id: Option<&MinionId>, denied: &Denied) -> Vec<u8> {
    master.telemetry.count_refusal(denied.cause, id);
    if let Some(id) = id {
        let why = Change::Refused(denied.cause.as_str());
        master.fleet.attendance.histories.record(id, why);
    }
    encode(&denied.refusal.to_value())
}

/// The bytes of an answer that is not sealed.
pub(super) fn encode(value: &Value) -> Vec<u8> {
    pack_wire(value).unwrap_or_else(|error| cannot_pack(&error))
}

/// An answer that no format can hold, which a handler should not have made.
fn cannot_pack(error: &PackError) -> Vec<u8> {
    tracing::error!("could not pack an answer: {}", chain(error));
    pack_wire(&Refusal::ServerFailed.to_value()).unwrap_or_default()
}
