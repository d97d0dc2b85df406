//! What a minion does each time a link becomes ready: fetch that master's pillar, then
//! fire its start event.

use std::sync::Arc;

use halite_proto::time::Civil;
use halite_proto::{Map, Value};
use tracing::debug;

use crate::context::event_request;
use crate::context::pillar;
use crate::core::sign_in::chain;
use crate::minion::{Minion, unix_micros};

/// Greets the numbered master, whose link has just become ready.
pub(crate) async fn greet(minion: Arc<Minion>, master: usize, first: bool) {
    let Some(greeted) = minion.masters.get(master) else {
        return;
    };
    if let Err(error) = minion.fire_local(
        "__master_connected",
        Map::from([("master", Value::from(greeted.name.as_str()))]),
    ) {
        debug!(error, "could not fire an event on the local bus");
    }
    // A pillar that cannot be had is reported where it is asked for.
    let _ = pillar::refresh(&minion, master, false).await;
    if !minion.greeted.is_news(&minion, master) {
        return;
    }
    debug!(
        master = greeted.name,
        first, "firing the start event of the minion"
    );
    let legacy = minion
        .opts
        .get("enable_legacy_startup_events")
        .is_none_or(Value::is_true);
    let own = format!("salt/minion/{}/start", minion.id);
    let tags = legacy
        .then(|| "minion_start".to_owned())
        .into_iter()
        .chain([own]);
    for tag in tags {
        let text = format!("Minion {} started at {}", minion.id, asctime(unix_micros()));
        let mut load = event_request(&minion, &tag, text.into());
        if let Some(grains) = start_event_grains(&minion) {
            load.insert("grains", grains);
        }
        if let Err(error) = greeted.channel.request(load, minion.patience).await {
            debug!(tag, "could not send the start event: {}", chain(&error));
            minion.greeted.forget(master);
        }
    }
}

/// The grains that `start_event_grains` names.
fn start_event_grains(minion: &Minion) -> Option<Map> {
    let names = minion.opts.get("start_event_grains")?.as_list()?;
    let grains = minion.grains();
    let chosen: Map = names
        .iter()
        .filter_map(|name| Some((name.clone(), grains.get_value(name)?.clone())))
        .collect();
    (!chosen.is_empty()).then_some(chosen)
}

/// A moment as C's `asctime` writes it, in UTC: `Fri Nov 20 16:02:03 2026`.
fn asctime(unix_micros: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    const MICROS_PER_DAY: u64 = 86_400_000_000;
    let at = Civil::from_micros(unix_micros);
    // The first of January 1970 was a Thursday.
    let day = usize::try_from(unix_micros / MICROS_PER_DAY % 7).unwrap_or(0);
    let month = usize::try_from(at.month).unwrap_or(1).wrapping_sub(1);
    format!(
        "{} {} {:2} {:02}:{:02}:{:02} {}",
        DAYS.get(day).unwrap_or(&"Thu"),
        MONTHS.get(month).unwrap_or(&"Jan"),
        at.day,
        at.hour,
        at.minute,
        at.second,
        at.year
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_as_c_writes_it() {
        assert_eq!(asctime(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(asctime(1_795_190_523_000_000), "Fri Nov 20 16:02:03 2026");
    }
}
