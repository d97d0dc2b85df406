//! Runners that had not ended when their master was killed.

use std::sync::Arc;

use halite_proto::{Jid, Map};

use super::{Runners, proc_files};

/// Those that this master has left in its last life. To be called before a runner begins.
/// Where masters share the directory, it has those of the others too, which end them.
pub(crate) fn left_runners(runners: &Runners) -> Vec<(Jid, Map)> {
    let cluster = runners.cluster.as_ref();
    match cluster.is_none_or(|cluster| cluster.settings.isolated) {
        true => proc_files::left(&runners.general.cachedir),
        false => Vec::new(),
    }
}

/// Tells of the end of such runners, and keeps it. Waits for the job cache.
pub(crate) fn end_left_runners(runners: &Arc<Runners>, left: Vec<(Jid, Map)>) {
    for (jid, mut data) in left {
        match runners.jobs.cache.returns(&jid) {
            Ok(returns) if returns.is_empty() => {}
            _ => continue,
        }
        let fun = data.get("fun").and_then(halite_proto::Value::as_str);
        let fun = fun.unwrap_or_default().trim_start_matches("runner.");
        tracing::warn!(%jid, "the runner {fun} was ended with this master's last life");
        let text = format!(
            "Exception occurred in runner {fun}: its master was killed while it ran; what it has \
             done until then is done, and nothing of it is begun again"
        );
        data.insert("return", text);
        data.insert("retcode", 1);
        data.insert("success", false);
        let data = runners.jobs.store_runner_return(&jid, None, data);
        let tag = format!("salt/run/{jid}/ret");
        match &runners.cluster {
            // The others have told of it by themselves.
            Some(cluster) => runners.bus.fire_here(&tag, data, cluster.own.as_str()),
            None => runners.bus.fire(&tag, data),
        }
    }
}
