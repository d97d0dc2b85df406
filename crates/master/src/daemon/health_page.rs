//! `health_port`: whether this master serves, for balancers that ask over HTTP.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use halite_metrics::pages::{Answer, Page};

use super::maintenance::Health;
use super::served_page::ServedPage;
use crate::error::StartError;

/// The option.
const OPTION: &str = "health_port";

/// Listens at that port of the master's interface.
///
/// # Errors
/// When the interface is a name, or the port cannot be listened at.
pub(super) fn open(interface: &str, port: u16, health: &Health) -> Result<ServedPage, StartError> {
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
    ServedPage::open(OPTION, SocketAddr::new(address, port), answer)
}
