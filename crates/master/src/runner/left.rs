//! Runners that had not ended when their master was killed.

use std::sync::Arc;

use halite_proto::{Jid, Map};

use super::{Runners, proc_files};
use crate::under_way::lost_return;

/// The runners that this master's previous process has left. Must be called before a
/// runner starts. If masters share the directory, it contains those of the others too,
/// which end them.
pub(crate) fn left_runners(runners: &Runners) -> Vec<(Jid, Map)> {
    let cluster = runners.cluster.as_ref();
    match cluster.is_none_or(|cluster| cluster.settings.isolated) {
        true => proc_files::left(&runners.general.cachedir),
        false => Vec::new(),
    }
}

/// Announces and stores the end of such runners. Waits for the job cache.
pub(crate) fn end_left_runners(runners: &Arc<Runners>, left: Vec<(Jid, Map)>) {
    const WHY: &str = "its master was killed while the runner ran";
    for (jid, data) in left {
        let Some(data) = lost_return(&runners.jobs, &jid, data, WHY) else {
            continue;
        };
        let data = runners.jobs.store_runner_return(&jid, None, data);
        let tag = format!("salt/run/{jid}/ret");
        match &runners.cluster {
            // The others have told of it by themselves.
            Some(cluster) => runners.bus.fire_here(&tag, data, cluster.own.as_str()),
            None => runners.bus.fire(&tag, data),
        }
    }
}
