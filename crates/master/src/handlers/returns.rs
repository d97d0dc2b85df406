//! Results of jobs.

use halite_proto::request::{MinionRequest, Request, RequestSignature};
use halite_proto::returns::{JobReturn, OWN_JOB, ReturnJid};
use halite_proto::{Jid, MinionId, Value, time};
use halite_store::jobs::load_of_return;
use halite_store::{Saved, StoreError};

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
    if is_own {
        let mark = mark.and_then(|mark| Jid::parse(mark.as_str()?).ok());
        match own_job(master, id, job, mark) {
            Ok(jid) => job.jid = ReturnJid::Jid(jid),
            Err(error) => {
                tracing::error!(minion = %id, "could not make a job of a return: {}", chain(&error));
                return Handled::failed();
            }
        }
    }
    let stored = job.jid.jid().map(|jid| store(master, id, jid, job));
    if !matches!(stored, Some(Ok(false))) {
        tell(master, id, &request, is_own);
    }
    match stored {
        Some(Err(error)) => {
            tracing::error!(minion = %id, "could not store a return: {}", chain(&error));
            Handled::failed()
        }
        _ => Value::Nil.into(),
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
) -> Result<Jid, StoreError> {
    let jid = match mark.filter(is_past) {
        Some(mark) => master.jobs.allocate_own(id, &mark)?,
        None => master.allocate_jid(false)?,
    };
    if master.settings.stores_returns && !master.jobs.has_load(&jid) {
        let load = load_of_return(&jid, id, job);
        master.jobs.save_load(&jid, &load, None)?;
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
            tracing::warn!(minion = %id, %jid, "a second, different return is ignored");
            true
        }
        // A minion that did not hear us the first time.
        Saved::Duplicate { differs: false } => false,
        Saved::NoCache | Saved::Stored => true,
    };
    if master.settings.stores_endtime {
        master.jobs.save_endtime(jid, &master.endtime())?;
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
    master
        .bus
        .fire_under("job", [jid, "ret", id.as_str()], data);
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
            tracing::error!(minion = %id, "refused a return that is not signed (require_minion_sign_messages)");
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
    if !is_right {
        tracing::warn!(minion = %id, "the signature of a return is wrong");
    }
    is_right || !master.settings.drop_messages_signature_fail
}
