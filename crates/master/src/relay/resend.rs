//! Jobs for minions that have lost their connection to a peer and cannot ask what
//! they have missed, as those of Salt: what was published around the end of their
//! connection is sent again while they may come back.
//!
//! Invariant: a job is sent again only to minions that have not returned it and do
//! not show themselves; those drop what they have, by its id.

use std::sync::Arc;

use halite_proto::MinionId;
use halite_proto::publish::PublishLoad;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::error::chain;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::limits::{RESEND_BEFORE, RESEND_EVERY, RESEND_JOBS_MAX, RESENDS};
use crate::publishing::Publishing;

/// The parts that it takes.
#[derive(Clone)]
pub(super) struct Resend {
    pub(super) jobs: Arc<Jobs>,
    pub(super) fleet: Arc<Fleet>,
    pub(super) publishing: Arc<Publishing>,
}

impl Resend {
    /// Sends jobs again for a while: the connections to a peer end now.
    pub(super) async fn for_a_while(self) {
        let mut since = self.jobs.missed.seconds_ago(RESEND_BEFORE);
        for _ in 0..RESENDS {
            sleep(RESEND_EVERY).await;
            let this = self.clone();
            let sent = spawn_blocking(move || this.send(since)).await;
            match sent {
                Ok(()) => {}
                Err(error) => return tracing::error!("jobs are not sent again: {error}"),
            }
            // What was not returned by then is sent once more.
            since = since.max(self.jobs.missed.seconds_ago(RESEND_EVERY * RESENDS));
        }
    }

    fn send(&self, since: u64) {
        // A minion of Salt knows the ids of so many jobs, and would run an older one
        // again.
        if self.jobs.missed.count_since(since) > RESEND_JOBS_MAX {
            return;
        }
        for (load, minions) in self.jobs.missed.open_since(since) {
            let shows_itself = |id: &MinionId| self.fleet.attendance.presence(id).is_some();
            let lost: Vec<_> = minions.into_iter().filter(|id| !shows_itself(id)).collect();
            let Some(load) = PublishLoad::from_map(load)
                .ok()
                .filter(|_| !lost.is_empty())
            else {
                continue;
            };
            tracing::debug!(jid = %load.jid, minions = lost.len(), "sent again");
            if let Err(error) = self.publishing.publisher.publish(&load, &lost) {
                tracing::error!(jid = %load.jid, "{}", chain(&error));
            }
        }
    }
}
