//! Jobs that this master published shortly before it ended, for minions of which the job
//! cache could not say at the start whether they have returned them.

use std::collections::BTreeSet;
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
        count(&undecided)
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
        tell_too_old(&jobs, left, &undecided);
    }
}

/// Logs which jobs were not decided in time.
fn tell_too_old(jobs: &Jobs, left: Vec<(Jid, MinionId)>, undecided: &[(Jid, MinionId)]) {
    let is_over = |(jid, id): &(Jid, MinionId)| {
        !undecided.contains(&(jid.clone(), id.clone())) && !jobs.missed.has_returned(jid, id)
    };
    for (jid, id) in left.into_iter().filter(is_over) {
        tracing::error!(
            %jid, minion = %id,
            "the minion may have missed the job: job_replay_window was over before the job cache \
             could be asked whether it has returned it"
        );
    }
}

fn count(undecided: &[(Jid, MinionId)]) -> usize {
    let jids: BTreeSet<&str> = undecided.iter().map(|(jid, _)| jid.as_str()).collect();
    jids.len()
}
