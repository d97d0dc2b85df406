//! Results of jobs.

use std::sync::PoisonError;

use halite_proto::msgpack::{Packing, packed_len};
use halite_proto::request::{MinionRequest, Request, RequestSignature};
use halite_proto::returns::{JobReturn, OWN_JOB, ReturnJid};
use halite_proto::{Jid, MinionId, Value, time};
use halite_store::{Saved, StoreError, load_of_return};

use super::{Caller, Handled};
use crate::clock::now_micros;
use crate::core::returns::failed_states;
use crate::error::chain;
use crate::master::Master;

/// Stores a return, tells of it, and only then acknowledges it.
pub(super) fn returned(master: &Master, caller: &Caller, mut request: Request) -> Handled {
    if !signature_suffices(master, caller, request.meta.sig.as_ref()) {
        return false.into();
    }
    let id = &caller.id;
    let MinionRequest::Return(job) = &mut request.command else {
        return Handled::failed();
    };
    let mark = job.extra.remove(OWN_JOB);
    let is_own = job.jid == ReturnJid::Req;
    let room = room_for(master, id, job);
    if is_own {
        let mark = mark.and_then(|mark| Jid::parse(mark.as_str()?).ok());
        match own_job(master, id, job, mark, room != Room::None) {
            Ok(jid) => job.jid = ReturnJid::Jid(jid),
            Err(error) => {
                room.give_back(master, id);
                tracing::error!(minion = %id, "could not make a job of a return: {}", chain(&error));
                return Handled::failed();
            }
        }
    }
    let kept = job.jid.jid().filter(|_| room != Room::None);
    let stored = kept.map(|jid| store(master, id, jid, job));
    if !matches!(stored, Some(Ok(true))) {
        room.give_back(master, id);
    }
    let is_news = match (&stored, job.jid.jid()) {
        (Some(Ok(false)), _) => false,
        (Some(stored), Some(jid)) => {
            let mut told = master.told.lock().unwrap_or_else(PoisonError::into_inner);
            match stored {
                Ok(_) => told.stored(jid, id),
                // It comes again until it can be stored.
                Err(_) => told.is_news(jid, id),
            }
        }
        _ => true,
    };
    if is_news {
        tell(master, id, &request, is_own);
    }
    match stored {
        Some(Err(error)) => {
            if master.may_remark(id.as_str(), "store") {
                tracing::error!(minion = %id, "could not store a return: {}", chain(&error));
            }
            Handled::failed()
        }
        _ => Value::Nil.into(),
    }
}

/// Where a return is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// Its job is one of this master's, or takes no room here.
    OfMaster,
    /// So much was taken for it of the room that its minion has.
    OfMinion(usize),
    /// Nowhere: that is used up.
    None,
}

impl Room {
    fn give_back(self, master: &Master, id: &MinionId) {
        if let Self::OfMinion(bytes) = self {
            master.give_back_room_of(id, bytes);
        }
    }
}

/// Finds room for a return: those of this master's jobs have it, of others each
/// minion may have so many.
fn room_for(master: &Master, id: &MinionId, job: &JobReturn) -> Room {
    match &job.jid {
        ReturnJid::Jid(jid)
            if !master.settings.stores_returns || master.jobs.knows(jid).unwrap_or(false) =>
        {
            return Room::OfMaster;
        }
        ReturnJid::NoCache => return Room::OfMaster,
        ReturnJid::Jid(_) | ReturnJid::Req => {}
    }
    let values = [&job.ret, &job.fun.to_value()];
    let beside = job.fun_args.iter().chain(&job.metadata).chain(values);
    let bytes = beside.map(|value| packed_len(value, Packing::Modern)).sum();
    match master.has_room_for_job_of(id, bytes) {
        true => Room::OfMinion(bytes),
        false => Room::None,
    }
}

/// Makes a job for a return that nobody asked for: `salt-call`, a schedule. A
/// Halite minion has marked it: the same one that comes again, since we were
/// not heard, is the same job.
fn own_job(
    master: &Master,
    id: &MinionId,
    job: &JobReturn,
    mark: Option<Jid>,
    is_kept: bool,
) -> Result<Jid, StoreError> {
    if !is_kept {
        return Ok(master.next_jid());
    }
    let jid = match mark.filter(is_past) {
        Some(mark) => master.jobs.allocate_own(id, &mark)?,
        None => master.allocate_jid(false)?,
    };
    if master.settings.stores_returns && !master.jobs.has_load(&jid)? {
        let load = load_of_return(&jid, id, job);
        master.jobs.save_load(&jid, &load, None)?;
        master.job_mirror.load(&jid, &load, None);
    }
    Ok(jid)
}

/// Ids of the time to come are this master's to give.
fn is_past(mark: &Jid) -> bool {
    time::jid_to_micros(mark).is_some_and(|micros| micros <= now_micros() + CLOCKS_DIFFER_MICROS)
}

/// By how much a minion's clock may be ahead.
const CLOCKS_DIFFER_MICROS: u64 = 60_000_000;

/// Whether the return is new.
fn store(master: &Master, id: &MinionId, jid: &Jid, job: &JobReturn) -> Result<bool, StoreError> {
    master.missed.returned(jid, id);
    if !master.settings.stores_returns {
        return Ok(true);
    }
    let is_new = match master.jobs.save_return(jid, id, job)? {
        Saved::Duplicate { differs: true } => {
            if master.may_remark(id.as_str(), "second return") {
                tracing::warn!(minion = %id, %jid, "a second, different return is ignored");
            }
            true
        }
        // A minion that did not hear us the first time.
        Saved::Duplicate { differs: false } => false,
        Saved::NoCache => true,
        Saved::Stored => {
            master.job_mirror.returned(jid, id, job);
            true
        }
    };
    if master.settings.stores_endtime {
        let now = master.endtime();
        master.jobs.save_endtime(jid, &now)?;
        master.job_mirror.ended(jid, &now);
    }
    Ok(is_new)
}

/// Fires the events; those of a job that the minion has given itself say what
/// a command would have said.
fn tell(master: &Master, id: &MinionId, request: &Request, is_own: bool) {
    let MinionRequest::Return(job) = &request.command else {
        return;
    };
    let jid = job.jid.as_str();
    tracing::info!(minion = %id, jid, "got the return of {}", job.fun.to_text());
    let mut data = request.event_data();
    if is_own {
        data.insert("arg", data.get("fun_args").cloned().unwrap_or_default());
        data.insert("tgt_type", "glob");
        data.insert("tgt", id);
    }
    master.bus.tell_return(jid, job.jid.jid(), id, data);
    let Some(jid) = job.jid.jid() else {
        return;
    };
    for failed in failed_states(job, jid, id) {
        let parts = [jid.as_str(), "sub", id.as_str(), "error", &failed.fun];
        master.bus.fire(&failed.state, failed.short);
        master.bus.fire_under("job", parts, failed.long);
    }
}

/// Whether the request is signed as the options demand.
fn signature_suffices(
    master: &Master,
    caller: &Caller,
    signature: Option<&RequestSignature>,
) -> bool {
    let id = &caller.id;
    let Some(signature) = signature else {
        if master.settings.require_minion_sign_messages {
            if master.may_remark(id.as_str(), "unsigned") {
                tracing::error!(minion = %id, "refused a return that is not signed (require_minion_sign_messages)");
            }
            return false;
        }
        return true;
    };
    // The algorithm that the minion names in the envelope is the one it signs
    // with; both that exist are safe to accept.
    let algorithm = master.signing_algorithm(caller.sig_algo.as_deref());
    let is_right = match (master.accepted.public_key(id), algorithm) {
        (Some(key), Ok(algorithm)) => {
            key.verify(algorithm, &signature.message, &signature.signature)
        }
        _ => false,
    };
    if !is_right && master.may_remark(id.as_str(), "signature") {
        tracing::warn!(minion = %id, "the signature of a return is wrong");
    }
    is_right || !master.settings.drop_messages_signature_fail
}
