//! Jobs and returns that peers report, and the jobs of this master's last run that
//! it reports to them.
//!
//! Invariant: the age of a job counts from its publication, however often it was
//! passed on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use halite_mesh::PeerId;
use halite_proto::publish::PublishLoad;
use halite_proto::returns::{JobReturn, PUBLISHER};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::StoreError;

use super::PeerReceiver;
use super::resend::Resend;
use crate::cluster::Cluster;
use crate::cluster::fired_return::FiredReturn;
use crate::cluster::message::{Message, Published};
use crate::core::jobs::restrict;
use crate::core::missed::OpenJob;
use crate::error::chain;
use crate::fleet::highstates::ReturnedTo;
use crate::jobs::Jobs;
use crate::limits::{JOB_LATE_AFTER, RESEND_JOBS_MAX};

/// Sends the peers the jobs that minions may still ask for: before its restart this
/// master may have been killed before it sent them.
pub(super) fn tell_unfinished(jobs: &Jobs, cluster: &Cluster) {
    // Older ones are over before a peer that was away hears of them.
    let window = Duration::from_secs(cluster.settings.replay_window_s / 2);
    let missed = &jobs.missed;
    // The peers send them to minions: see `Resend`.
    let (open, left_out) = missed.last_open(missed.seconds_ago(window), RESEND_JOBS_MAX);
    if left_out > 0 {
        tracing::warn!(
            "{left_out} jobs from before this master's restart are not sent to the peers: only the \
             newest {RESEND_JOBS_MAX} are"
        );
    }
    tell_open(jobs, cluster, open);
}

/// Sends the peers jobs, each for the minions that may have missed it.
fn tell_open(jobs: &Jobs, cluster: &Cluster, open: Vec<OpenJob>) {
    for OpenJob {
        load,
        minions,
        age_s,
    } in open
    {
        let Ok(load) = PublishLoad::from_map(load) else {
            continue;
        };
        cluster.tell(&Message::Publish(Box::new(Published {
            // Others may have had it, and return it once more.
            by_ids: false,
            kept: jobs.cache.load(&load.jid).ok().flatten(),
            load,
            minions,
            age: Duration::from_secs(age_s),
        })));
    }
}

/// Sends jobs of this master's last life of which it has just learnt that minions have
/// missed them.
pub(crate) struct LateJobs {
    pub(super) jobs: Arc<Jobs>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) resend: Arc<Resend>,
}

impl LateJobs {
    /// Sends them from here and at the peers. Minions that can ask for them do so.
    pub(crate) fn send(&self, open: Vec<OpenJob>) {
        self.resend.for_a_late_job();
        tell_open(&self.jobs, &self.cluster, open);
    }
}

impl PeerReceiver {
    /// Sends a job of a peer to the minions that are connected here.
    pub(super) fn publish(&self, peer: &PeerId, on_its_way: Duration, published: Published) {
        let Published {
            mut load,
            minions,
            by_ids,
            kept,
            age,
        } = published;
        let age = age.saturating_add(on_its_way);
        let is_late = age >= JOB_LATE_AFTER;
        let jid = &load.jid.clone();
        if let Some(under_way) = &self.under_way {
            under_way.sent(peer, jid, &minions);
        }
        let missed = &self.jobs.missed;
        let has_returned = |id: &MinionId| missed.has_returned(jid, id);
        let (mut returned, mut open): (Vec<_>, Vec<_>) =
            minions.iter().cloned().partition(has_returned);
        // One that the peer tells of again, since it was killed.
        if missed.is_open(jid, &open) {
            return;
        }
        let stored = self.jobs.cache.load(jid);
        let is_known = !matches!(stored, Ok(None));
        if is_late || (is_known && !self.cluster.shares_cache()) {
            let is_stored =
                |id: &mut MinionId| matches!(self.jobs.cache.return_of(jid, id), Ok(Some(_)));
            returned.extend(open.extract_if(.., is_stored));
            // Whoever has run it may have forgotten its id by now.
            restrict(&mut load, &open);
        }
        self.jobs
            .record_meant_as_stored(jid, &stored, &minions, by_ids);
        if let Some(kept) = kept
            && !is_stored(&stored, &minions)
            && let Err(error) = self.save_load(jid, &kept, &minions)
        {
            tracing::error!(%jid, "could not store a job of {peer}: {}", chain(&error));
        }
        // Nobody runs a job that was meant for another time.
        let window = Duration::from_secs(self.cluster.settings.replay_window_s);
        if age > window.max(JOB_LATE_AFTER) {
            return tracing::warn!(
                %jid,
                "a job of {peer} arrived too late and is not sent to minions"
            );
        }
        missed.record_told(&load, &open, &returned, age);
        // One that is not remembered is not sent again, so it is sent now.
        if is_late && missed.is_open(jid, &open) {
            self.leave_to_resend(&mut load, &mut open);
        }
        if open.is_empty() {
            return;
        }
        match self.publishing.publisher.publish(&load, &open) {
            Ok(()) => tracing::info!(%jid, "published a job of {peer}"),
            Err(error) => tracing::error!(%jid, "{}", chain(&error)),
        }
    }

    /// Removes the minions that cannot say whether they have run a late job: they get it
    /// when it is known what was published for them since, and returned.
    fn leave_to_resend(&self, load: &mut PublishLoad, minions: &mut Vec<MinionId>) {
        let before = minions.len();
        minions.retain(|id| self.fleet.attendance.presence(id).is_some());
        if minions.len() < before {
            restrict(load, minions);
            self.resend.for_a_late_job();
        }
    }

    /// Stores a job as its publishing master does: lists of jobs show only those that
    /// were prepared.
    fn save_load(&self, jid: &Jid, kept: &Map, minions: &[MinionId]) -> Result<(), StoreError> {
        self.jobs.cache.prepare(jid, false)?;
        self.jobs.cache.save_load(jid, kept, Some(minions))
    }

    /// Stores the return of a peer's runner, so that lists of jobs show it here too.
    pub(super) fn keep_runner_return(&self, id: &MinionId, load: &Map, job: &JobReturn) {
        let settings = &self.jobs.settings;
        let is_kept = settings.stores_runner_returns && settings.stores_returns;
        let Some(jid) = job.jid.jid().filter(|_| is_kept) else {
            return;
        };
        if let Err(error) = self.jobs.cache.prepare(jid, false) {
            tracing::error!(%jid, "could not create the job of a runner: {}", chain(&error));
        }
        self.jobs.keep_runner_return(jid, id, load, job);
    }

    /// Stores a return that a peer has received and fired, and fires it here.
    pub(super) fn keep_fired_return(&self, peer: &PeerId, fired: FiredReturn) {
        let FiredReturn { id, job, data } = fired;
        self.keep_return(&id, &job);
        if let Some(jid) = job.jid.jid() {
            self.bus.relay_return(jid, &id, &data, peer.as_str());
        }
    }

    /// Stores a return that a peer has received.
    pub(super) fn keep_return(&self, id: &MinionId, job: &JobReturn) {
        let Some(jid) = job.jid.jid() else {
            return;
        };
        self.jobs.missed.returned(jid, id);
        if self.keys.accepted.get(id).is_some() {
            let highstates = &self.fleet.highstates;
            highstates.returned(id, job, ReturnedTo::Peer);
        }
        if !self.jobs.settings.stores_returns {
            return;
        }
        if let Err(error) = self.jobs.cache.save_return(jid, id, job) {
            tracing::error!(minion = %id, %jid, "could not store a return: {}", chain(&error));
            // The peer counts on this master to have it.
            self.jobs.keep_return_for_later(jid, id, id, job);
        }
    }
}

/// Whether the job cache has a job as a master has published it, and for these minions: a
/// return may have come before, or an earlier part of a batch.
fn is_stored(stored: &Result<Option<Map>, StoreError>, minions: &[MinionId]) -> bool {
    match stored {
        Ok(load) => load
            .as_ref()
            .is_some_and(|load| is_published_for(load, minions)),
        // What cannot be read now may be there.
        Err(_) => true,
    }
}

/// Whether the stored load of a job was published by a master, not made from a return,
/// and names all of these minions.
fn is_published_for(load: &Map, minions: &[MinionId]) -> bool {
    let known = load.get("Minions").and_then(Value::as_list);
    let known: HashSet<&str> = known
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    load.get(PUBLISHER).is_some() && minions.iter().all(|id| known.contains(id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_stored_as_published_when_all_its_minions_are_in_it() {
        let ids = |names: &[&str]| -> Vec<MinionId> {
            let ids = names.iter().map(|name| MinionId::parse(*name).unwrap());
            ids.collect()
        };
        let minions = Value::List(vec!["web1".into(), "web2".into()]);
        let mut load = Map::from([("fun", "test.ping".into()), ("Minions", minions)]);
        assert!(
            !is_published_for(&load, &ids(&["web1"])),
            "made of a return"
        );
        load.insert(PUBLISHER, "");
        assert!(is_published_for(&load, &ids(&["web1", "web2"])));
        // A later part of a batch.
        assert!(!is_published_for(&load, &ids(&["web2", "web3"])));
    }
}
