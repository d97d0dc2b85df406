//! The jobs that a minion may have missed, which Salt's masters do not keep, and
//! other machines with its id and key.

use halite_proto::Value;
use halite_proto::request::{Replay, Replayed};
use halite_transport::fleet::Origin;

use super::{Caller, Handled};
use crate::fleet::clones::tell_of_clones;
use crate::master::Master;

/// Answers a minion, and tells of its clones if it has some.
pub(super) fn answer(master: &Master, caller: &Caller, replay: &Replay) -> Handled {
    let Master {
        jobs, fleet, bus, ..
    } = master;
    let id = &caller.id;
    let jobs = jobs.missed.missed_by(id);
    if !jobs.is_empty() {
        tracing::info!(
            minion = %id, jobs = jobs.len(),
            "sent the minion the jobs that it may have missed"
        );
    }
    let mut others = Vec::new();
    if let Some(process) = &replay.process {
        let heard = fleet.hear_process(id, process, caller.from);
        if let Some(addresses) = heard.news {
            tell_of_clones(bus, id, &addresses);
        }
        others = heard.addresses;
    }
    let answer = Replayed {
        jobs: jobs.into_iter().map(Value::Map).collect(),
        others: others.iter().map(Origin::to_string).collect(),
    };
    answer.into_value(replay).into()
}
