//! Publications that a local program pushes to the publish port's socket,
//! which only the master's user may open.

use std::sync::Arc;

use halite_proto::publish::PublishLoad;
use halite_transport::fleet::LocalPublishSocket;
use tokio::task::spawn_blocking;

use crate::core::jobs::DELIMITER_DEFAULT;
use crate::core::targets::{Asked, resolve};
use crate::error::chain;
use crate::master::Master;

/// Publishes what is pushed, in its order, until the socket fails.
pub(crate) async fn publish_pushed(master: &Arc<Master>, socket: &mut LocalPublishSocket) {
    while let Some(packed) = socket.recv().await {
        let master = Arc::clone(master);
        if let Err(error) = spawn_blocking(move || publish(&master, &packed)).await {
            tracing::error!("could not publish what was pushed: {error}");
        }
    }
}

fn publish(master: &Master, packed: &[u8]) {
    let load = match PublishLoad::decode(packed) {
        Ok(load) => load,
        Err(error) => {
            return tracing::warn!("what was pushed is no publication: {}", chain(&error));
        }
    };
    let asked = Asked {
        tgt: &load.tgt,
        tgt_type: &load.tgt_type,
        delimiter: load.delimiter.as_deref().unwrap_or(DELIMITER_DEFAULT),
        with_unknown: master.settings.targets_uncached,
        ranges: Some(&master.range_server),
    };
    let minions = resolve(asked, master).unwrap_or_default().minions;
    match master.publisher.publish(&load, &minions) {
        Ok(()) => tracing::info!(jid = %load.jid, "published what was pushed"),
        Err(error) => tracing::error!(jid = %load.jid, "{}", chain(&error)),
    }
}
