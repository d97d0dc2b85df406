//! Jobs for minions that have lost their connection to a peer and, like those of
//! Salt, cannot ask for missed jobs: what was published around the end of their
//! connection is sent again while they may come back.
//!
//! Invariant: a job is sent again only to minions that have not returned it, that
//! send no signs of life, and for which so few jobs were published since that they
//! still know its id and drop a repetition. One task does so, however many peers
//! come and go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_mesh::Mesh;
use halite_proto::publish::PublishLoad;
use halite_proto::{Map, MinionId};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::core::jobs::restrict;
use crate::core::missed::OpenJob;
use crate::error::chain;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::limits::{
    RESEND_BEFORE, RESEND_EVERY, RESEND_JOBS_MAX, RESEND_LINKED_MAX, RESEND_ROUND_JOBS_MAX, RESENDS,
};
use crate::publishing::Publishing;

/// The parts that it takes.
pub(super) struct Resend {
    pub(super) jobs: Arc<Jobs>,
    pub(super) fleet: Arc<Fleet>,
    pub(super) publishing: Arc<Publishing>,
    pub(super) rounds: Mutex<Rounds>,
    pub(super) wanted: Notify,
}

/// How often jobs are still to be sent again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rounds {
    left: u32,
    /// Jobs that were heard of since.
    since: u64,
    /// It was logged that some are left out.
    was_said: bool,
}

impl Rounds {
    /// Connections have ended that have jobs from `since` on.
    fn ask(&mut self, since: u64) {
        if self.left == 0 {
            self.since = since;
            self.was_said = false;
        }
        self.since = self.since.min(since);
        self.left = RESENDS;
    }

    /// The next round, if there is one: the time from which on jobs are sent again, but
    /// none before `oldest`.
    fn next(&mut self, oldest: u64) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.since = self.since.max(oldest);
        Some(self.since)
    }
}

impl Resend {
    /// The connections of a peer's minions end now: sends jobs again for a while. The
    /// loss of a single minion's connection is no reason, because a Salt minion may have
    /// been restarted by that very job and no longer know of it.
    pub(super) fn for_a_while(&self) {
        let since = self.jobs.missed.seconds_ago(RESEND_BEFORE);
        self.rounds().ask(since);
        self.wanted.notify_one();
    }

    /// A peer tells of a job that has been published for a while. What its minions may
    /// have run and returned since comes behind it.
    pub(super) fn for_a_late_job(&self) {
        // It may have been heard of a moment before, in another second.
        let since = self.jobs.missed.seconds_ago(RESEND_BEFORE);
        self.rounds().ask(since);
        self.wanted.notify_one();
    }

    /// Does so, whenever it is asked for, and first for what this master published in
    /// its last life shortly before: it may have been lost with the connections that
    /// ended then.
    pub(super) async fn run(self: Arc<Self>, mesh: Mesh) {
        let since = self.jobs.missed.seconds_ago(RESEND_EVERY * RESENDS);
        mesh.linked(RESEND_LINKED_MAX).await;
        self.rounds().ask(since);
        self.wanted.notify_one();
        loop {
            self.wanted.notified().await;
            loop {
                sleep(RESEND_EVERY).await;
                // What was not returned by then is sent once more.
                let oldest = self.jobs.missed.seconds_ago(RESEND_EVERY * RESENDS);
                let next = self.rounds().next(oldest);
                let Some(since) = next else {
                    break;
                };
                let this = Arc::clone(&self);
                if let Err(error) = spawn_blocking(move || this.send(since)).await {
                    tracing::error!("could not send jobs again: {error}");
                }
            }
        }
    }

    fn send(&self, since: u64) {
        let (jobs, left_out) = self.jobs.missed.again_since(since);
        if left_out > 0 && !std::mem::replace(&mut self.rounds().was_said, true) {
            tracing::warn!(
                "{left_out} jobs are not sent again to minions that may have missed them: more than \
                 {RESEND_JOBS_MAX} were published for the minion since, or more than \
                 {RESEND_ROUND_JOBS_MAX} in all"
            );
        }
        for OpenJob { load, minions, .. } in jobs {
            let shows_itself = |id: &MinionId| self.fleet.attendance.presence(id).is_some();
            let lost: Vec<_> = minions.into_iter().filter(|id| !shows_itself(id)).collect();
            let Some(load) = to_send_again(load, &lost) else {
                continue;
            };
            tracing::debug!(jid = %load.jid, minions = lost.len(), "sent again");
            if let Err(error) = self.publishing.publisher.publish(&load, &lost) {
                tracing::error!(jid = %load.jid, "{}", chain(&error));
            }
        }
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job as these minions get it again, and nobody else: whoever has run it may have
/// forgotten its id by now. `None` if nobody gets it.
fn to_send_again(load: Map, lost: &[MinionId]) -> Option<PublishLoad> {
    let mut load = PublishLoad::from_map(load).ok()?;
    restrict(&mut load, lost);
    (!lost.is_empty()).then_some(load)
}

#[cfg(test)]
mod tests {
    use halite_proto::Value;
    use halite_proto::publish::FunSpec;
    use halite_proto::time::jid_from_micros;

    use super::*;

    #[test]
    fn a_job_goes_again_to_who_has_not_returned_and_to_nobody_else() {
        let fun = FunSpec::One("test.ping".to_owned());
        let jid = jid_from_micros(1);
        let load = PublishLoad::new(fun, Vec::new(), "*".into(), "glob", jid);
        let lost = [MinionId::parse("py1").unwrap()];
        let again = to_send_again(load.to_map(), &lost).unwrap();
        assert_eq!(again.tgt, Value::List(vec!["py1".into()]));
        assert_eq!(again.tgt_type, "list");
        assert_eq!(to_send_again(load.to_map(), &[]), None);
    }

    #[test]
    fn peers_that_come_and_go_prolong_the_rounds_and_add_none() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.next(0), None);
        rounds.ask(100);
        assert_eq!(rounds.next(90), Some(100));
        rounds.ask(102);
        for _ in 1..RESENDS {
            assert_eq!(rounds.next(90), Some(100));
        }
        assert_eq!(rounds.next(101), Some(101));
        assert_eq!(rounds.next(101), None);
        rounds.ask(200);
        assert_eq!(rounds.next(190), Some(200));
        // A late job came first, and then a peer was lost with jobs from before.
        rounds.ask(195);
        assert_eq!(rounds.next(190), Some(195));
    }
}
