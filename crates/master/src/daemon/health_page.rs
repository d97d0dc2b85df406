//! `health_port`: whether this master serves, for balancers that ask over HTTP.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use halite_mesh::Mesh;
use halite_metrics::pages::{Answer, Page, PagePort};

use super::health::Health;
use super::page_port;
use crate::error::StartError;

/// The option.
const OPTION: &str = "health_port";

/// Listens at that port of the master's interface. `mesh` is there once the master
/// belongs to a cluster.
///
/// # Errors
/// When the interface is a name, or the port cannot be listened at.
pub(super) fn open(
    interface: &str,
    port: u16,
    health: &Health,
    mesh: &Arc<OnceLock<Mesh>>,
) -> Result<PagePort, StartError> {
    let address: IpAddr = interface.parse().map_err(|_| StartError::Option {
        option: OPTION,
        why: format!("`interface` is {interface:?}, but must be an IP address"),
    })?;
    let (health, mesh) = (health.clone(), Arc::clone(mesh));
    let answer: Arc<Answer> = Arc::new(move |path| {
        let is_asked = ["/", "/health", "/health/ready"].contains(&path);
        is_asked.then(|| match health.is_ready() {
            true => Page::text(200, ready(&mesh)),
            false if !health.has_keys() => {
                Page::text(503, "not ready: the keys of minions cannot be read")
            }
            false => Page::text(503, "not ready"),
        })
    });
    page_port::open(OPTION, SocketAddr::new(address, port), answer)
}

/// Without the bus the master still serves its own minions, so it counts as ready.
fn ready(mesh: &OnceLock<Mesh>) -> &'static str {
    match mesh.get().and_then(Mesh::bus) {
        Some(bus) if !bus.is_connected => "ready, but not connected to the bus of the cluster",
        Some(bus) if !bus.is_storing => "ready, but the bus of the cluster stores no messages",
        _ => "ready",
    }
}
