//! Links that come through the bus.

use std::sync::Arc;

use futures_util::StreamExt as _;
use halite_proto::chain;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{prove, take};
use crate::error::MeshError;
use crate::handshakes::Origin;
use crate::limits::{HANDSHAKE_MAX, REDIAL_MAX};
use crate::nats::Bus;
use crate::nats::tunnel::{self, Opening};
use crate::shared::Shared;
use crate::tls::Wire;
use crate::wire::Receiver;

/// Takes links through the bus, for as long as it is polled.
pub(crate) async fn accept_from_bus(
    mesh: &Arc<Shared>,
    bus: &Arc<Bus>,
    receiver: &Arc<dyn Receiver>,
) {
    let mut links = JoinSet::new();
    loop {
        match tunnel::listen(bus).await {
            Ok(mut opened) => {
                while let Some(message) = opened.next().await {
                    while links.try_join_next().is_some() {}
                    let Some(opening) = tunnel::opening(message) else {
                        continue;
                    };
                    let (mesh, bus) = (Arc::clone(mesh), Arc::clone(bus));
                    links.spawn(take_opening(mesh, bus, opening, Arc::clone(receiver)));
                }
            }
            Err(error) => tracing::debug!("no links from the bus: {}", chain(&error)),
        }
        sleep(REDIAL_MAX).await;
    }
}

/// Takes one. Only names that are known take places of others.
async fn take_opening(
    mesh: Arc<Shared>,
    bus: Arc<Bus>,
    opening: Opening,
    receiver: Arc<dyn Receiver>,
) {
    if !mesh.pins.peers().contains(&opening.from) {
        let _ = timeout(HANDSHAKE_MAX, opening.refuse(&bus)).await;
        return;
    }
    let place = mesh.handshakes.begin(Origin::Bus(opening.from.clone()));
    let proven = async {
        let taken = timeout(HANDSHAKE_MAX, opening.take(&bus)).await;
        let wire: Wire = Box::new(taken.map_err(|_| MeshError::Silent)??);
        prove(&mesh, wire, None, place).await
    };
    take(&mesh, proven.await, receiver).await;
}
