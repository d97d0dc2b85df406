//! Sends the events of this master to its peers.

use std::sync::Arc;

use halite_transport::ipc::LocalEvents;

use crate::cluster::Cluster;
use crate::cluster::message::Message;
use crate::events::bus::is_of_a_peer;

/// Sends the events of this master to the peers, until the bus is closed.
pub(super) async fn tell_events(cluster: Arc<Cluster>, mut events: LocalEvents) {
    let mut lost = 0;
    while let Some(event) = events.recv().await {
        if events.lost() > lost {
            tracing::error!(
                "{} events were not sent to the peers: there were too many",
                events.lost() - lost
            );
            lost = events.lost();
        }
        if !is_of_a_peer(event.bytes()) {
            cluster.tell(&Message::Event(event.bytes().to_vec()));
        }
    }
}
