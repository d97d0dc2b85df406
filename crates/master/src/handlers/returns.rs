//! Results of jobs.

use halite_proto::request::{MinionRequest, Request};
use halite_proto::returns::{JobReturn, OWN_JOB, PUBLISHER, ReturnJid, TOLD_BESIDE};
use halite_proto::shown::quoted;
use halite_proto::{Jid, MinionId, Value};
use halite_store::{Saved, StoreError};

use super::own_job::own_job;
use super::return_room::{Room, room_for};
use super::signatures::signature_suffices;
use super::{Caller, Handled};
use crate::cluster::Cluster;
use crate::cluster::copies::{Copied, CopiesSent};
use crate::core::meant::Standing;
use crate::core::returns::failed_states;
use crate::error::chain;
use crate::events::bus::{Bus, ReturnEvent};
use crate::fleet::Fleet;
use crate::fleet::clones::tell_of_clones;
use crate::fleet::highstates::ReturnedTo;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::limits::SHOWN_CHARS_MAX;

/// The field by which Salt 3008 names the resource that a return is for.
const RESOURCE: &str = "resource_id";

/// The parts of the master that results go to.
#[derive(Clone, Copy)]
pub(super) struct Returns<'a> {
    pub(super) bus: &'a Bus,
    pub(super) keys: &'a Keys,
    pub(super) jobs: &'a Jobs,
    pub(super) fleet: &'a Fleet,
    pub(super) cluster: Option<&'a Cluster>,
}

impl Returns<'_> {
    /// Stores a return, fires its events, and only then acknowledges it; in a cluster
    /// without shared files when a peer has it too.
    pub(super) fn store(self, caller: &Caller, request: Request) -> Handled {
        match self.keep(caller, request) {
            (_, Some(copied)) => Handled::Held(Box::pin(async move {
                copied.await;
                Value::Nil
            })),
            (handled, None) => handled,
        }
    }

    /// Stores a return and fires its events; the answer, and what is to be waited for
    /// before it is given.
    fn keep(self, caller: &Caller, mut request: Request) -> (Handled, Option<Copied>) {
        let Self {
            bus, keys, jobs, ..
        } = self;
        if !signature_suffices(keys, caller, request.meta.sig.as_ref()) {
            return (false.into(), None);
        }
        let sender = &caller.id;
        let MinionRequest::Return(job) = &mut request.command else {
            return (Handled::failed(), None);
        };
        let mark = job.extra.remove(OWN_JOB);
        let mark = mark.and_then(|mark| Jid::parse(mark.as_str()?).ok());
        let is_own = job.jid == ReturnJid::Req;
        let mark = take_foreign(jobs, caller, job).or(mark);
        let Some(id) = self.whose(caller, job) else {
            return (Value::Nil.into(), None);
        };
        let id = &id;
        let room = room_for(jobs, sender, id == sender, job);
        let is_asked_for = job.jid != ReturnJid::Req;
        if !is_asked_for {
            match self.own_jid(caller, id, job, mark, room != Room::None) {
                Some(jid) => job.jid = ReturnJid::Jid(jid),
                None => {
                    room.release(jobs, sender);
                    if let Some(meters) = &caller.telemetry.meters {
                        meters.stored("failed");
                    }
                    return (Handled::failed(), None);
                }
            }
        }
        let kept = job.jid.jid().filter(|_| room != Room::None);
        let job_id = kept.cloned();
        let stored = kept.map(|jid| store(self, caller, id, jid, job, is_asked_for));
        if !matches!(stored, Some(Ok(Stored { is_new: true, .. }))) {
            room.release(jobs, sender);
        }
        let meters = caller.telemetry.meters.as_ref();
        if let Some(meters) = meters {
            meters.stored(outcome(stored.as_ref()));
        }
        let is_first = kept
            .zip(stored.as_ref())
            .is_none_or(|(jid, stored)| is_first_seen(jobs, id, jid, stored));
        if is_first {
            self.count_first(caller, id, job);
        }
        let event = is_first
            .then(|| event_of(bus, id, &request, is_own))
            .flatten();
        let MinionRequest::Return(job) = &request.command else {
            return (Handled::failed(), None);
        };
        let told = self.tell_peers(id, job_id.as_ref(), job, event.as_ref(), stored.as_ref());
        if is_first {
            fire(bus, id, job, event.as_ref(), told.is_fired);
        }
        match stored.transpose() {
            Ok(_) => (Value::Nil.into(), told.copied),
            Err(error) => {
                if caller.may_log("store") {
                    tracing::error!(minion = %id, "could not store a return: {}", chain(&error));
                }
                self.keep_elsewhere(caller, id, job, &error);
                (Handled::failed(), None)
            }
        }
    }

    /// Counts a return that is heard of for the first time, and remembers it if it is of a
    /// highstate.
    fn count_first(self, caller: &Caller, id: &MinionId, job: &JobReturn) {
        if let Some(meters) = &caller.telemetry.meters {
            meters.returned(job);
        }
        // Resources have no rows, and a minion chooses their names.
        if *id == caller.id {
            let highstates = &self.fleet.highstates;
            highstates.returned(id, job, ReturnedTo::Own);
        }
    }

    /// Tells the peers of a return that is stored here, with its event if it has one.
    fn tell_peers(
        self,
        id: &MinionId,
        jid: Option<&Jid>,
        job: &JobReturn,
        event: Option<&ReturnEvent>,
        stored: Option<&Result<Stored, StoreError>>,
    ) -> CopiesSent {
        let is_again = match stored {
            Some(Ok(stored)) => stored.is_again,
            _ => None,
        };
        match (self.cluster, jid, is_again) {
            (Some(cluster), Some(jid), Some(is_again)) => {
                let fired = event.and_then(ReturnEvent::whole_data);
                cluster.tell_return(jid, id, job, fired, is_again)
            }
            _ => CopiesSent::default(),
        }
    }

    /// The id of the job that is made of a return; `None` if that failed and the return
    /// comes again.
    fn own_jid(
        self,
        caller: &Caller,
        id: &MinionId,
        job: &JobReturn,
        mark: Option<Jid>,
        is_kept: bool,
    ) -> Option<Jid> {
        let error = match own_job(self.jobs, id, job, mark, is_kept) {
            Ok(jid) => return Some(jid),
            Err(error) => error,
        };
        if caller.may_log("own job") {
            tracing::error!(minion = %id, "could not create a job for a return: {}", chain(&error));
        }
        // What does not come again is kept for later, as any other result.
        is_sent_once(caller).then(|| self.jobs.next_id())
    }

    /// Keeps a return that could not be stored and does not come again: in memory, if the
    /// store may take it later, and at the peers.
    fn keep_elsewhere(self, caller: &Caller, id: &MinionId, job: &JobReturn, error: &StoreError) {
        let Some(jid) = job.jid.jid().filter(|_| is_sent_once(caller)) else {
            return;
        };
        if !error.is_of_value() {
            self.jobs.keep_return_for_later(jid, id, &caller.id, job);
        }
        if let Some(cluster) = self.cluster {
            // Nobody waits for them: the answer is the same.
            drop(cluster.tell_return(jid, id, job, None, false));
        }
    }

    /// The owner of a return: the sender, or a resource that it has registered; `None` if
    /// the job was sent to others. Fields beside the result itself are not passed on.
    fn whose(self, caller: &Caller, job: &mut JobReturn) -> Option<MinionId> {
        if let ReturnJid::Jid(jid) = &job.jid
            && self.jobs.standing(jid, &caller.id) == Standing::ForOthers
        {
            if caller.may_log("not meant") {
                tracing::warn!(
                    minion = %caller.id, %jid,
                    "dropped the result of a job that was not sent to this minion"
                );
            }
            return None;
        }
        let resource = job.extra.remove(RESOURCE);
        let is_told = |name: &Value| {
            name.as_str()
                .is_some_and(|name| TOLD_BESIDE.contains(&name))
        };
        job.extra.retain(|name, _| is_told(name));
        let Some(resource) = resource.filter(Value::is_true) else {
            return Some(caller.id.clone());
        };
        let is_its_own = |resource: &MinionId| {
            *resource == caller.id || self.fleet.resources.is_of(&caller.id, resource)
        };
        let named = resource.as_str();
        match named.and_then(|id| MinionId::parse(id).ok()) {
            Some(resource) if is_its_own(&resource) => Some(resource),
            _ => {
                let resource = named.map(|id| quoted(id, SHOWN_CHARS_MAX));
                if caller.may_log("resource") {
                    tracing::warn!(
                        minion = %caller.id,
                        resource,
                        "dropped the result of a resource that does not belong to the minion"
                    );
                }
                None
            }
        }
    }
}

/// Whether a minion brings a result once: one of Salt's takes any answer for a success,
/// a Halite minion brings it again until it is stored.
const fn is_sent_once(caller: &Caller) -> bool {
    !caller.is_halite
}

/// Gives the return of another master's job a new id if a job of this master has the same
/// id, because the two are unrelated. The return is stored under the next free id, and
/// under the same one if it comes again.
fn take_foreign(jobs: &Jobs, caller: &Caller, job: &mut JobReturn) -> Option<Jid> {
    let drawn_by = job.extra.remove(PUBLISHER);
    let jid = job.jid.jid()?.clone();
    if !jobs.is_of_another(&jid, drawn_by.as_ref(), job) {
        return None;
    }
    if caller.may_log("another master's job") {
        tracing::warn!(
            minion = %caller.id, %jid,
            "a return of another master's job has the jid of a job of this master; stored it under \
             a new jid"
        );
    }
    job.jid = ReturnJid::Req;
    Some(jid)
}

/// A return that is kept.
struct Stored {
    is_new: bool,
    /// Whether it was stored before; `None` if the peers are not told of it.
    is_again: Option<bool>,
}

/// The outcome of a return for the counters; `None` if there was no room.
const fn outcome(stored: Option<&Result<Stored, StoreError>>) -> &'static str {
    match stored {
        Some(Ok(Stored { is_new: true, .. })) => "stored",
        Some(Ok(_)) => "again",
        Some(Err(_)) => "failed",
        None => "no_room",
    }
}

/// Whether nobody has heard of a return yet.
fn is_first_seen(
    jobs: &Jobs,
    id: &MinionId,
    jid: &Jid,
    stored: &Result<Stored, StoreError>,
) -> bool {
    match stored {
        Ok(Stored { is_new: false, .. }) => false,
        Ok(_) => jobs.first_seen_stored(jid, id),
        // It comes again until it can be stored.
        Err(_) => jobs.first_seen_unstored(jid, id),
    }
}

fn store(
    returns: Returns<'_>,
    caller: &Caller,
    id: &MinionId,
    jid: &Jid,
    job: &JobReturn,
    is_asked_for: bool,
) -> Result<Stored, StoreError> {
    let Returns {
        bus, jobs, fleet, ..
    } = returns;
    jobs.missed.returned(jid, id);
    if !jobs.settings.stores_returns {
        // No minion brings a job of its own there.
        if is_asked_for {
            jobs.save_return_in_ext(jid, id, job, caller.is_halite)?;
        }
        return Ok(Stored {
            is_new: true,
            is_again: None,
        });
    }
    let saved = jobs.cache.save_return(jid, id, job)?;
    match saved {
        // The result may be a resource's; it is the minion that may be several.
        Saved::Stored => fleet.hear_return(&caller.id, jid, caller.from),
        Saved::Duplicate { .. } => {
            if let Some(addresses) = fleet.hear_return_again(&caller.id, jid, caller.from) {
                tell_of_clones(bus, &caller.id, &addresses);
            }
        }
        Saved::NoCache => {}
    }
    let is_new = match saved {
        Saved::Duplicate { differs: true } => {
            if caller.may_log("second return") {
                tracing::warn!(minion = %id, %jid, "ignored a second, different return");
            }
            true
        }
        // A minion that did not hear us the first time.
        Saved::Duplicate { differs: false } => false,
        Saved::NoCache => true,
        Saved::Stored => {
            jobs.mirror.returned(jid, id, job);
            true
        }
    };
    if jobs.settings.stores_endtime {
        let now = jobs.endtime();
        jobs.cache.save_endtime(jid, &now)?;
        jobs.mirror.ended(jid, &now);
    }
    let is_again = match saved {
        Saved::Stored => Some(false),
        // Its minion has not heard that a peer has it.
        Saved::Duplicate { differs: false } => Some(true),
        Saved::Duplicate { differs: true } | Saved::NoCache => None,
    };
    Ok(Stored { is_new, is_again })
}

/// The event of a return; that of a job that the minion has given itself says what a
/// command would have said.
fn event_of(bus: &Bus, id: &MinionId, request: &Request, is_own: bool) -> Option<ReturnEvent> {
    let MinionRequest::Return(job) = &request.command else {
        return None;
    };
    let mut data = request.event_data();
    data.insert("id", id);
    if is_own {
        data.insert("arg", data.get("fun_args").cloned().unwrap_or_default());
        data.insert("tgt_type", "glob");
        data.insert("tgt", id);
    }
    bus.return_event(job.jid.as_str(), id, data)
}

/// Fires the events of a return. `is_told` says whether the peers fire that of the return
/// themselves.
fn fire(bus: &Bus, id: &MinionId, job: &JobReturn, event: Option<&ReturnEvent>, is_told: bool) {
    let jid = job.jid.as_str();
    tracing::info!(minion = %id, jid, "got the return of {}", job.fun.to_text());
    if let Some(event) = event {
        bus.fire_return(event, job.jid.jid(), id, is_told);
    }
    let Some(jid) = job.jid.jid() else {
        return;
    };
    for failed in failed_states(job, jid, id) {
        let parts = [jid.as_str(), "sub", id.as_str(), "error", &failed.fun];
        bus.fire(&failed.state, failed.short);
        bus.fire_under("job", parts, failed.long);
    }
}
