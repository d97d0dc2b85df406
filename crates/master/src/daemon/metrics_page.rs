//! `metrics`: the page for monitoring.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use halite_mesh::{Mesh, PeerStatus};
use halite_metrics::pages::{self, PagePort};
use halite_metrics::{Instruments, MetricsSettings};
use halite_store::Waits;
use halite_transport::connections_turned_away;

use super::{highstates_page, page_port};
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
    let help = "Connections refused because the limit was reached";
    instruments.total(
        "halite.connections.turned_away",
        help,
        connections_turned_away,
    );
    bus(&mut instruments, &master.bus);
    cluster(&mut instruments, master);
    stores(&mut instruments, &master.jobs);
    highstates_page::add(&mut instruments, &master.fleet, &master.keys);
    kept_jobs(&mut instruments, &master.jobs);
    if let Some(cluster) = &master.cluster {
        links(&mut instruments, &cluster.mesh);
    }
    let page = page_port::open("metrics", settings.address, pages::metrics(instruments))?;
    tracing::info!("metrics are at http://{}/metrics", settings.address);
    Ok(page)
}

/// Whether the engine that carries what the masters tell each other is there and keeps it.
fn cluster(on: &mut Instruments, master: &Master) {
    let Some(mesh) = master.cluster.as_ref().map(|of| of.mesh.clone()) else {
        return;
    };
    if mesh.bus().is_some() {
        let help = "Whether this master is connected to the bus of its cluster";
        let of = mesh.clone();
        on.gauge("halite.cluster.bus.connected", help, move || {
            number(of.bus().is_some_and(|bus| bus.is_connected).into())
        });
        let help = "Whether the bus of the cluster stores this master's messages to the others";
        on.gauge("halite.cluster.bus.storing", help, move || {
            number(mesh.bus().is_some_and(|bus| bus.is_storing).into())
        });
    }
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
    let help = "Events that subscribers of the bus did not read, and subscribers disconnected";
    on.total("halite.bus.events.dropped", help, move || {
        of.upgrade().map_or(0, |bus| bus.lost())
    });
}

fn stores(on: &mut Instruments, jobs: &Arc<Jobs>) {
    let of = Arc::downgrade(jobs);
    let help = "Whether the store of a role is reachable";
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
            "Those of these writes that the server has refused while accepting others",
            |waits| number(waits.refused),
        ),
    ];
    for (name, help, read) in shown {
        let of = Arc::downgrade(jobs);
        on.gauges(name, help, "role", move || {
            of.upgrade().map_or_else(Vec::new, |jobs| {
                by_role(&jobs, |all: &mut f64, waits| *all += read(waits))
            })
        });
    }
    let of = Arc::downgrade(jobs);
    let help = "Age of the oldest write that waits on disk";
    on.gauges(
        "halite.store.waiting.oldest_seconds",
        help,
        "role",
        move || {
            of.upgrade().map_or_else(Vec::new, |jobs| {
                by_role(&jobs, |oldest: &mut f64, waits| {
                    let age = waits.oldest.unwrap_or_default();
                    *oldest = oldest.max(age.as_secs_f64());
                })
            })
        },
    );
    lost_writes(on, jobs);
}

fn lost_writes(on: &mut Instruments, jobs: &Arc<Jobs>) {
    type Read = fn(&Waits) -> u64;
    let shown: [(&str, &str, Read); 2] = [
        (
            "halite.store.turned_away",
            "Writes lost because the spool on disk was full",
            |waits| waits.turned_away,
        ),
        (
            "halite.store.dropped",
            "Writes in the spool on disk that cannot be read back",
            |waits| waits.dropped,
        ),
    ];
    for (name, help, read) in shown {
        let of = Arc::downgrade(jobs);
        on.totals(name, help, "role", move || {
            of.upgrade().map_or_else(Vec::new, |jobs| {
                by_role(&jobs, |all: &mut u64, waits| *all += read(waits))
            })
        });
    }
}

/// The jobs that minions may still ask for.
fn kept_jobs(on: &mut Instruments, jobs: &Arc<Jobs>) {
    let kept = |jobs: &Weak<Jobs>| {
        let jobs = jobs.upgrade();
        jobs.map(|jobs| jobs.missed.on_disk()).unwrap_or_default()
    };
    let of = Arc::downgrade(jobs);
    let help = "Jobs kept for minions that reconnect";
    on.gauge("halite.replay.jobs", help, move || number(kept(&of).jobs));
    let of = Arc::downgrade(jobs);
    let help = "Bytes of the jobs kept for minions that reconnect";
    on.gauge("halite.replay.bytes", help, move || {
        number(usize::try_from(kept(&of).bytes).unwrap_or(usize::MAX))
    });
    let of = Arc::downgrade(jobs);
    let help = "Jobs no longer kept before their time, as there were too many";
    on.total("halite.replay.dropped", help, move || kept(&of).dropped);
}

/// The links to the other masters of the cluster, and the messages that wait for them.
fn links(on: &mut Instruments, mesh: &Mesh) {
    type Read = fn(&PeerStatus) -> f64;
    let shown: [(&str, &str, Read); 3] = [
        (
            "halite.mesh.linked",
            "Whether a master of the cluster is connected, both ways",
            |peer| f64::from(u8::from(peer.is_connected())),
        ),
        (
            "halite.mesh.waiting",
            "Messages for a master of the cluster that it has not acknowledged",
            |peer| number(peer.kept.0),
        ),
        (
            "halite.mesh.waiting.oldest_seconds",
            "Age of the oldest message that a master has not acknowledged",
            |peer| peer.kept.1.unwrap_or_default().as_secs_f64(),
        ),
    ];
    for (name, help, read) in shown {
        let of = mesh.clone();
        on.gauges(name, help, "peer", move || {
            let peers = of.peers().into_iter();
            peers
                .map(|peer| (peer.peer.to_string(), read(&peer)))
                .collect()
        });
    }
    let of = mesh.clone();
    let help = "Messages kept to be sent to masters of the cluster again";
    on.gauge("halite.mesh.log", help, move || number(of.log().messages));
    let of = mesh.clone();
    let help = "Bytes of the messages kept to be sent again";
    on.gauge("halite.mesh.log_bytes", help, move || {
        number(of.log().bytes)
    });
    let of = mesh.clone();
    let help = "Messages dropped before a master of the cluster had received them";
    on.total("halite.mesh.skipped", help, move || of.log().skipped);
}

/// Something of what waits, by role; of several databases of events together.
fn by_role<N: Default>(jobs: &Jobs, add: impl Fn(&mut N, &Waits)) -> Vec<(String, N)> {
    let mut all = BTreeMap::<&str, N>::new();
    for (role, waits) in jobs.health.waits() {
        add(all.entry(role).or_default(), &waits);
    }
    let all = all.into_iter();
    all.map(|(role, number)| (role.to_owned(), number))
        .collect()
}

/// A count or a number of bytes, which may be more than 4 GiB.
fn number(count: usize) -> f64 {
    let count = count as u64;
    let half = |bits: u64| f64::from(u32::try_from(bits).unwrap_or(u32::MAX));
    let low = half(count & u64::from(u32::MAX));
    half(count >> 32) * (f64::from(u32::MAX) + 1.0) + low
}
