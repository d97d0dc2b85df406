//! Publications that a local program pushes to the publish port's socket,
//! which only the master's user may open.

use std::sync::Arc;
use std::time::Duration;

use halite_proto::publish::PublishLoad;
use halite_transport::fleet::LocalPublishSocket;
use tokio::task::spawn_blocking;

use super::Publishing;
use crate::cluster::message::{Message, Published};
use crate::core::jobs::DELIMITER_DEFAULT;
use crate::core::targets::{Asked, resolve};
use crate::error::chain;

/// Publishes what is pushed, in its order, until the socket fails.
pub(crate) async fn publish_pushed(publishing: &Arc<Publishing>, socket: &mut LocalPublishSocket) {
    while let Some(packed) = socket.recv().await {
        let publishing = Arc::clone(publishing);
        if let Err(error) = spawn_blocking(move || publish(&publishing, &packed)).await {
            tracing::error!("could not publish a pushed job: {error}");
        }
    }
}

fn publish(publishing: &Publishing, packed: &[u8]) {
    let load = match PublishLoad::decode(packed) {
        Ok(load) => load,
        Err(error) => {
            return tracing::warn!(
                "ignored a pushed message that is not a publication: {}",
                chain(&error)
            );
        }
    };
    let fleet = &publishing.groups.fleet;
    let asked = Asked {
        tgt: &load.tgt,
        tgt_type: &load.tgt_type,
        delimiter: load.delimiter.as_deref().unwrap_or(DELIMITER_DEFAULT),
        with_unknown: fleet.settings.targets_uncached,
        ranges: Some(&fleet.range_server),
    };
    let minions = resolve(asked, &**fleet).unwrap_or_default().minions;
    let jobs = &publishing.groups.jobs;
    jobs.record_meant(&load.jid, &minions, false);
    jobs.missed.record(&load, &minions);
    if let Some(cluster) = &publishing.groups.cluster {
        cluster.tell(&Message::Publish(Box::new(Published {
            load: load.clone(),
            minions: minions.clone(),
            by_ids: false,
            kept: None,
            age: Duration::ZERO,
        })));
    }
    match publishing.publisher.publish(&load, &minions) {
        Ok(()) => tracing::info!(jid = %load.jid, "published a pushed job"),
        Err(error) => tracing::error!(jid = %load.jid, "{}", chain(&error)),
    }
}
