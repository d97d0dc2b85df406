//! Has a master of a cluster without shared files agree with the others.

use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use crate::limits::REGISTERS_EVERY;
use crate::registers::{JoinAcceptor, KeyRegisters};

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
            if let Err(error) = spawn_blocking(move || registers.tick()).await {
                tracing::error!("the registers have failed: {error}");
            }
        }
    })
}
