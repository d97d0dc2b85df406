//! Another master compares itself with this one.

use std::sync::atomic::{AtomicI64, Ordering};

use halite_crypto::fingerprint_text;
use halite_crypto::{HashType, SigAlgo};
use halite_key::MasterKeys;
use halite_proto::Value;
use halite_proto::clear::{ComparisonReply, ComparisonRequest};

use crate::clock::now_s;
use crate::comparison::facts::Known;
use crate::comparison::sealed::seal;
use crate::error::chain;

/// How much the clocks of two masters may differ for them to talk, in seconds.
const CLOCKS_APART_MAX: u64 = 600;

/// Seconds between two answers with facts: they read all files.
const PAUSE_S: i64 = 1;

/// When facts were gathered last.
static GATHERED: AtomicI64 = AtomicI64::new(0);

/// Answers the question: with facts for who has this master's key.
pub(crate) fn compare(known: Known<'_>, request: &ComparisonRequest) -> Value {
    let identity = &known.keys.identity;
    let fingerprint = fingerprint_text(identity.public_pem().as_bytes(), HashType::Sha256);
    let sealed = match is_asked_by_holder(identity, request) {
        true => seal(known, request)
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

fn is_asked_by_holder(identity: &MasterKeys, request: &ComparisonRequest) -> bool {
    let now = now_s();
    if now.abs_diff(request.ts) > CLOCKS_APART_MAX {
        return false;
    }
    let Ok(public) = identity.private().public() else {
        return false;
    };
    let signed = ComparisonRequest::signed(&request.nonce, request.ts);
    if !public.verify(SigAlgo::Pkcs1v15Sha224, &signed, &request.sig) {
        return false;
    }
    // One that is played again costs no more than this.
    let last = GATHERED.swap(now, Ordering::Relaxed);
    now - last >= PAUSE_S || last > now
}
