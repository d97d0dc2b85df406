//! Keeps a master of a cluster without shared files in agreement with the others.

use std::sync::Arc;

use halite_store::Places;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use crate::cluster::Channel;
use crate::cluster::secret::SecretChannel;
use crate::error::StartError;
use crate::limits::{REGISTERS_EVERY, SHARED_DATA_EVERY};
use crate::master::Master;
use crate::publishing::{Publishing, PublishingGroups};
use crate::registers::{JoinAcceptor, KeyRegisters, RegisterParts};
use crate::shared_data::{SharedData, SharedPlaces};
use crate::shared_roots::SharedRoots;
use crate::under_way::UnderWay;

/// The registers of a cluster whose masters share no directory.
pub(super) fn registers(
    parts: &PublishingGroups,
    publishing: &Arc<Publishing>,
) -> Result<Option<Arc<KeyRegisters>>, StartError> {
    let cluster = parts.cluster.as_ref();
    let isolated = cluster.filter(|cluster| cluster.settings.isolated);
    let registers = isolated.map(|cluster| {
        KeyRegisters::open(RegisterParts {
            cluster: Arc::clone(cluster),
            keys: Arc::clone(&parts.keys),
            fleet: Arc::clone(&parts.fleet),
            publishing: Arc::clone(publishing),
        })
    });
    registers
        .transpose()
        .map_err(|error| StartError::Registers(Box::new(error)))
}

/// The data about minions and tokens that masters of a cluster exchange, as far as it is
/// not on a server.
pub(super) fn shared_data(parts: &PublishingGroups, places: &Places) -> Option<Arc<SharedData>> {
    let cluster = parts.cluster.as_ref()?;
    let shares_data = places.store.data.cache().is_none() && parts.fleet.settings.keeps_data;
    let shares_tokens = places.store.tokens.cache().is_none();
    let places = SharedPlaces {
        keys: Arc::clone(&parts.keys),
        fleet: shares_data.then(|| Arc::clone(&parts.fleet)),
        access: shares_tokens.then(|| Arc::clone(&parts.access)),
    };
    Some(SharedData::open(Arc::clone(cluster), places))
}

/// The files of roots that the masters of a cluster give each other.
pub(super) fn shared_roots(parts: &PublishingGroups) -> Option<Arc<SharedRoots>> {
    let cluster = parts.cluster.as_ref()?;
    let general = Arc::clone(&parts.general);
    Some(SharedRoots::new(Arc::clone(cluster), general))
}

/// What each master of a cluster does that somebody waits for.
pub(super) fn under_way(parts: &PublishingGroups) -> Option<Arc<UnderWay>> {
    let cluster = parts.cluster.clone()?;
    let (bus, jobs) = (Arc::clone(&parts.bus), Arc::clone(&parts.jobs));
    Some(Arc::new(UnderWay::new(cluster, bus, jobs)))
}

/// The channels between the masters of a cluster.
pub(super) fn channels(master: &Master) -> Vec<Arc<dyn Channel>> {
    let mut channels: Vec<Arc<dyn Channel>> = Vec::new();
    if let (Some(registers), Some(cluster)) = (&master.registers, &master.cluster) {
        channels.push(Arc::clone(registers) as Arc<dyn Channel>);
        channels.push(Arc::new(SecretChannel(Arc::clone(cluster))));
    }
    if let Some(shared) = &master.shared_data {
        channels.push(Arc::clone(shared) as Arc<dyn Channel>);
    }
    if let Some(roots) = &master.shared_roots {
        channels.push(Arc::clone(roots) as Arc<dyn Channel>);
    }
    if let Some(under_way) = &master.under_way {
        channels.push(Arc::clone(under_way) as Arc<dyn Channel>);
    }
    channels
}

/// Names to the others what is known of minions anew, until it is aborted.
pub(super) fn share(shared: Arc<SharedData>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut every = interval(SHARED_DATA_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let shared = Arc::clone(&shared);
            if let Err(error) = spawn_blocking(move || shared.tick()).await {
                tracing::error!("could not share data about minions with the peers: {error}");
            }
        }
    })
}

/// Reads decisions and sends them to the others, and admits masters, until it is aborted.
pub(super) fn agree(registers: Arc<KeyRegisters>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let own = Arc::clone(&registers);
        let opened = spawn_blocking(move || {
            let cluster = Arc::clone(&own.parts.cluster);
            cluster.mesh.let_join(Arc::new(JoinAcceptor::new(own)));
        });
        if let Err(error) = opened.await {
            tracing::error!("could not accept masters that join: {error}");
        }
        let mut every = interval(REGISTERS_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let registers = Arc::clone(&registers);
            let ticked = spawn_blocking(move || {
                registers.tick();
                registers.parts.cluster.write_secret_again();
            });
            if let Err(error) = ticked.await {
                tracing::error!("could not update the cluster's registers: {error}");
            }
        }
    })
}
