//! Large returns that come piece by piece.
//!
//! Invariant: the joined pieces are a return of the minion that the gate has
//! proven, and are stored like one that came whole.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::{HashType, hash_hex};
use halite_proto::request::{MinionRequest, PieceAnswer, Request, ReturnPiece};
use halite_proto::returns::{JobReturn, OWN_JOB, ReturnJid};
use halite_proto::{Map, Value, msgpack};

use super::returns::Returns;
use super::signatures::signature_suffices;
use super::{Caller, Handled};
use crate::clock::now_s;
use crate::core::unfinished_returns::{Kept, UnfinishedReturns};
use crate::jobs::Jobs;

/// Adds a piece, and handles the return if it is the last one.
pub(super) fn take(returns: Returns<'_>, caller: &Caller, request: Request) -> Handled {
    let MinionRequest::ReturnPiece(piece) = &request.command else {
        return Handled::failed();
    };
    if !signature_suffices(returns.keys, caller, request.meta.sig.as_ref()) {
        return PieceAnswer::Answered(false.into()).into_value().into();
    }
    let kept = unfinished(returns.jobs).add(&caller.id, piece, now_s());
    let answer = match kept {
        Kept::Has(bytes) => PieceAnswer::Has(bytes),
        Kept::NoRoom => PieceAnswer::NoRoom,
        Kept::Done => PieceAnswer::Answered(Value::Nil),
        Kept::Whole(packed) => return store(returns, caller, &request, piece, &packed),
    };
    answer.into_value().into()
}

/// Stores a return whose pieces are all here.
fn store(
    returns: Returns<'_>,
    caller: &Caller,
    request: &Request,
    piece: &ReturnPiece,
    packed: &[u8],
) -> Handled {
    let jobs = returns.jobs;
    if hash_hex(HashType::Sha256, packed) != piece.parcel {
        unfinished(jobs).finish(&caller.id, &piece.parcel, false);
        return PieceAnswer::Has(0).into_value().into();
    }
    let Some(job) = job_in(packed) else {
        unfinished(jobs).finish(&caller.id, &piece.parcel, false);
        if caller.may_log("return pieces") {
            tracing::warn!(
                minion = %caller.id,
                "dropped a return in pieces: the pieces do not form a valid return"
            );
        }
        return PieceAnswer::Answered(false.into()).into_value().into();
    };
    let is_known = is_known_by_content(&job);
    let whole = Request {
        meta: request.meta.clone(),
        command: MinionRequest::Return(job),
        extra: Map::new(),
    };
    let (id, parcel) = (caller.id.clone(), piece.parcel.clone());
    let unfinished = Arc::clone(&jobs.unfinished);
    let finish = move |answer: Value| {
        // One that could not be stored is asked for again, and is still here.
        if answer != Value::from("") {
            lock(&unfinished).finish(&id, &parcel, is_known);
        }
        PieceAnswer::Answered(answer).into_value()
    };
    match returns.store(caller, whole) {
        Handled::Value(answer) => finish(answer).into(),
        // Until then the pieces are asked for again, and the return is known.
        Handled::Held(answer) => Handled::Held(Box::pin(async move { finish(answer.await) })),
        _ => Handled::failed(),
    }
}

/// The return in its bytes.
fn job_in(packed: &[u8]) -> Option<Box<JobReturn>> {
    let Ok(Value::Map(load)) = msgpack::unpack_wire(packed) else {
        return None;
    };
    match MinionRequest::from_map(load) {
        Ok(MinionRequest::Return(job)) => Some(job),
        _ => None,
    }
}

/// Whether two returns with the same content are one: not where the master
/// gives the job its id, unless the minion has given it a mark.
fn is_known_by_content(job: &JobReturn) -> bool {
    matches!(job.jid, ReturnJid::Jid(_)) || job.extra.get(OWN_JOB).is_some()
}

fn unfinished(jobs: &Jobs) -> MutexGuard<'_, UnfinishedReturns> {
    lock(&jobs.unfinished)
}

fn lock(unfinished: &Mutex<UnfinishedReturns>) -> MutexGuard<'_, UnfinishedReturns> {
    unfinished.lock().unwrap_or_else(PoisonError::into_inner)
}
