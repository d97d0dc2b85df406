//! Jobs that this master published shortly before it ended, for minions of which the job
//! cache could not say at the start whether they have returned them.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_proto::{Jid, MinionId};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::jobs::Jobs;
use crate::limits::UNDECIDED_JOBS_EVERY;
use crate::relay::LateJobs;

/// Asks the job cache again until there are none: they are decided, or too old. Minions
/// that are connected to this master ask for what they have missed; `late_jobs` reaches
/// those of other masters, and those of Salt.
pub(super) async fn decide(jobs: Arc<Jobs>, late_jobs: Option<LateJobs>) {
    let mut undecided = jobs.missed.undecided();
    if undecided.is_empty() {
        return;
    }
    tracing::warn!(
        "the job cache cannot be asked who has returned the last jobs: {} of them go to their \
         minions when it can",
        by_job(&undecided).len()
    );
    let late_jobs = late_jobs.map(Arc::new);
    while !undecided.is_empty() {
        let (asking, late_jobs) = (Arc::clone(&jobs), late_jobs.clone());
        let asked = spawn_blocking(move || {
            let (open, left) = asking.missed.decide(undecided, &asking.cache);
            if let Some(late_jobs) = late_jobs.filter(|_| !open.is_empty()) {
                late_jobs.send(open);
            }
            left
        });
        let left = match asked.await {
            Ok(left) => left,
            Err(error) => return tracing::error!("could not decide about jobs: {error}"),
        };
        if !left.is_empty() {
            sleep(UNDECIDED_JOBS_EVERY).await;
        }
        undecided = jobs.missed.undecided();
        tell_too_old(&jobs, &left);
    }
}

/// Logs which of the jobs that were left undecided are forgotten by now.
fn tell_too_old(jobs: &Jobs, left: &[(Jid, MinionId)]) {
    for (jid, minions) in by_job(left) {
        if !jobs.missed.remembers(jid) {
            tracing::error!(
                %jid, minions,
                "minions may have missed the job: job_replay_window was over before the job cache \
                 could be asked whether they have returned it"
            );
        }
    }
}

/// The number of minions of each job.
fn by_job(undecided: &[(Jid, MinionId)]) -> BTreeMap<&Jid, usize> {
    let mut jobs = BTreeMap::new();
    for (jid, _) in undecided {
        *jobs.entry(jid).or_default() += 1;
    }
    jobs
}
