//! `metrics`: the page that monitoring asks for.

use std::sync::Arc;

use halite_metrics::pages::{self, PagePort};
use halite_metrics::{Instruments, MetricsSettings};

use super::page_port;
use crate::error::StartError;
use crate::fleet::Fleet;

/// Listens where the option says.
///
/// # Errors
/// When the address cannot be listened at.
pub(super) fn open(
    settings: &MetricsSettings,
    mut instruments: Instruments,
    fleet: &Arc<Fleet>,
) -> Result<PagePort, StartError> {
    let fleet = Arc::clone(fleet);
    let help = "Minions that are connected";
    instruments.gauge("salt.master.connected_minions.count", help, move || {
        let count = u32::try_from(fleet.connected().len());
        f64::from(count.unwrap_or(u32::MAX))
    });
    let page = page_port::open("metrics", settings.address, pages::metrics(instruments))?;
    tracing::info!("metrics are at http://{}/metrics", settings.address);
    Ok(page)
}
