//! Has a master of a cluster without shared files agree with the others.

use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use crate::cluster::Channel;
use crate::cluster::secret::SecretChannel;
use crate::limits::{REGISTERS_EVERY, SHARED_DATA_EVERY};
use crate::master::Master;
use crate::registers::{JoinAcceptor, KeyRegisters};
use crate::shared_data::SharedData;

/// What masters without shared files talk about beside their minions.
pub(super) fn channels(master: &Master) -> Vec<Arc<dyn Channel>> {
    let mut channels: Vec<Arc<dyn Channel>> = Vec::new();
    if let (Some(registers), Some(cluster)) = (&master.registers, &master.cluster) {
        channels.push(Arc::clone(registers) as Arc<dyn Channel>);
        channels.push(Arc::new(SecretChannel(Arc::clone(cluster))));
    }
    if let Some(shared) = &master.shared_data {
        channels.push(Arc::clone(shared) as Arc<dyn Channel>);
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
                tracing::error!("what is known of minions is not told: {error}");
            }
        }
    })
}

/// Looks for decisions and tells the others, and takes masters in, until it is
/// aborted.
pub(super) fn agree(registers: Arc<KeyRegisters>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let own = Arc::clone(&registers);
        let opened = spawn_blocking(move || {
            let cluster = Arc::clone(&own.parts.cluster);
            cluster.mesh.let_join(Arc::new(JoinAcceptor::new(own)));
        });
        if let Err(error) = opened.await {
            tracing::error!("no master can join: {error}");
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
                tracing::error!("the registers have failed: {error}");
            }
        }
    })
}
