//! Another master compares itself with this one.

use std::sync::{Mutex, PoisonError};

use halite_crypto::fingerprint_text;
use halite_crypto::{HashType, SigAlgo};
use halite_key::MasterKeys;
use halite_proto::clear::{ComparisonReply, ComparisonRequest};
use halite_proto::{Map, Value};

use crate::clock::now_s;
use crate::comparison::facts::{self, Known};
use crate::comparison::sealed::seal;
use crate::core::questions::{Questions, is_timely};
use crate::error::chain;
use crate::files::promotion::promote;

/// Answers the question: with facts for who has this master's key.
pub(crate) fn compare(
    known: Known<'_>,
    questions: &Mutex<Questions>,
    request: &ComparisonRequest,
) -> Value {
    let identity = &known.keys.identity;
    let fingerprint = fingerprint_text(identity.public_pem().as_bytes(), HashType::Sha256);
    let sealed = match is_asked_by_holder(identity, request) && is_new(questions, request) {
        true => seal(known.keys, request, answer(known, request))
            .map_err(|error| tracing::error!("could not answer another master: {}", chain(&error)))
            .ok(),
        false => None,
    };
    ComparisonReply {
        fingerprint,
        sealed,
    }
    .to_value()
}

/// The answer: the facts, or the result of a promotion.
fn answer(known: Known<'_>, request: &ComparisonRequest) -> Map {
    let Some(promotion) = &request.promotion else {
        return facts::gather(known);
    };
    match promote(known.files, promotion) {
        Ok(commit) => Map::from([("promoted", commit)]),
        Err(why) => Map::from([("refused", why)]),
    }
}

fn is_asked_by_holder(identity: &MasterKeys, request: &ComparisonRequest) -> bool {
    if !is_timely(request.ts, now_s()) {
        return false;
    }
    let Ok(public) = identity.private().public() else {
        return false;
    };
    let signed = ComparisonRequest::signed(&request.nonce, request.ts, request.promotion.as_ref());
    public.verify(SigAlgo::Pkcs1v15Sha224, &signed, &request.sig)
}

fn is_new(questions: &Mutex<Questions>, request: &ComparisonRequest) -> bool {
    let mut questions = questions.lock().unwrap_or_else(PoisonError::into_inner);
    match request.promotion {
        Some(_) => questions.admit_order(&request.nonce, request.ts, now_s()),
        None => questions.admit(&request.nonce, request.ts, now_s()),
    }
}
