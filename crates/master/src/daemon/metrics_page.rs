//! `metrics`: the page that monitoring asks for.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_metrics::pages::{self, PagePort};
use halite_metrics::{Instruments, MetricsSettings};
use halite_store::Waits;

use super::page_port;
use crate::error::StartError;
use crate::events::bus::Bus;
use crate::jobs::Jobs;
use crate::master::Master;
use crate::serving::server::Server;

/// Listens where the option says.
///
/// # Errors
/// When the address cannot be listened at.
pub(super) fn open(
    settings: &MetricsSettings,
    mut instruments: Instruments,
    master: &Master,
    server: &Arc<Server>,
) -> Result<PagePort, StartError> {
    let fleet = Arc::clone(&master.fleet);
    let help = "Minions that are connected";
    instruments.gauge("salt.master.connected_minions.count", help, move || {
        number(fleet.connected().len())
    });
    // A page that is still being read does not keep the workers.
    let server = Arc::downgrade(server);
    let help = "Requests that wait, by lane";
    instruments.gauges("halite.requests.waiting", help, "lane", move || {
        let waiting = server.upgrade().map(|server| server.waiting());
        let waiting = waiting.into_iter().flatten();
        waiting
            .map(|(lane, count)| (lane.to_owned(), number(count)))
            .collect()
    });
    bus(&mut instruments, &master.bus);
    stores(&mut instruments, &master.jobs);
    let page = page_port::open("metrics", settings.address, pages::metrics(instruments))?;
    tracing::info!("metrics are at http://{}/metrics", settings.address);
    Ok(page)
}

fn bus(on: &mut Instruments, bus: &Arc<Bus>) {
    let of = Arc::downgrade(bus);
    let help = "Subscribers of the event bus";
    on.gauge("halite.bus.subscribers", help, move || {
        of.upgrade().map_or(0.0, |bus| number(bus.depth().0))
    });
    let of = Arc::downgrade(bus);
    let help = "Events that wait for subscribers of the event bus";
    on.gauge("halite.bus.events.waiting", help, move || {
        of.upgrade().map_or(0.0, |bus| number(bus.depth().1))
    });
    let of = Arc::downgrade(bus);
    let help = "Events that a subscriber of the bus did not take, and subscribers given up";
    on.total("halite.bus.events.dropped", help, move || {
        of.upgrade().map_or(0, |bus| bus.lost())
    });
}

fn stores(on: &mut Instruments, jobs: &Arc<Jobs>) {
    let of = Arc::downgrade(jobs);
    let help = "Whether the place of a role is there";
    on.gauges("halite.store.available", help, "role", move || {
        let roles = of.upgrade().map(|jobs| jobs.health.are_there());
        let roles = roles.into_iter().flatten();
        roles
            .map(|(role, is_there)| (role.to_owned(), f64::from(u8::from(is_there))))
            .collect()
    });
    type Read = fn(&Waits) -> f64;
    let shown: [(&str, &str, Read); 3] = [
        (
            "halite.store.waiting",
            "Writes that wait on disk for a server",
            |waits| number(waits.count),
        ),
        (
            "halite.store.waiting_bytes",
            "Bytes of the writes that wait on disk",
            |waits| number(usize::try_from(waits.bytes).unwrap_or(usize::MAX)),
        ),
        (
            "halite.store.refused",
            "Writes among them that the server has refused, although it takes others",
            |waits| number(waits.refused),
        ),
    ];
    for (name, help, read) in shown {
        let of = Arc::downgrade(jobs);
        on.gauges(name, help, "role", move || {
            of.upgrade()
                .map_or_else(Vec::new, |jobs| waiting(&jobs, read))
        });
    }
}

/// A number of what waits, by role; several databases of events together.
fn waiting(jobs: &Jobs, read: fn(&Waits) -> f64) -> Vec<(String, f64)> {
    let mut all = BTreeMap::<&str, f64>::new();
    for (role, waits) in jobs.health.waits() {
        *all.entry(role).or_default() += read(&waits);
    }
    let all = all.into_iter();
    all.map(|(role, count)| (role.to_owned(), count)).collect()
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
