//! `health_port`: whether this master serves, for balancers that ask over HTTP.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use halite_metrics::pages::{Answer, Page, PagePort};

use super::maintenance::Health;
use super::page_port;
use crate::error::StartError;

/// The option.
const OPTION: &str = "health_port";

/// Listens at that port of the master's interface.
///
/// # Errors
/// When the interface is a name, or the port cannot be listened at.
pub(super) fn open(interface: &str, port: u16, health: &Health) -> Result<PagePort, StartError> {
    let address: IpAddr = interface.parse().map_err(|_| StartError::Option {
        option: OPTION,
        why: format!("`interface` is {interface:?}, and has to be an address"),
    })?;
    let health = health.clone();
    let answer: Arc<Answer> = Arc::new(move |path| {
        let is_asked = ["/", "/health", "/health/ready"].contains(&path);
        is_asked.then(|| match health.is_ready() {
            true => Page::text(200, "ready"),
            false => Page::text(503, "not ready"),
        })
    });
    page_port::open(OPTION, SocketAddr::new(address, port), answer)
}
