//! `metrics`: the page that monitoring asks for.

use std::sync::Arc;

use halite_metrics::pages::{Answer, OPEN_METRICS, Page};
use halite_metrics::{Instruments, MetricsSettings};

use super::served_page::ServedPage;
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
) -> Result<ServedPage, StartError> {
    let fleet = Arc::clone(fleet);
    let help = "Minions that are connected";
    instruments.gauge("salt.master.connected_minions.count", help, move || {
        let count = u32::try_from(fleet.connected().len());
        f64::from(count.unwrap_or(u32::MAX))
    });
    let answer: Arc<Answer> = Arc::new(move |path| {
        let page = || match instruments.page() {
            Ok(body) => Page {
                status: 200,
                content_type: OPEN_METRICS,
                body,
            },
            Err(error) => Page::text(500, &format!("could not write the page: {error}")),
        };
        (path == "/metrics").then(page)
    });
    let page = ServedPage::open("metrics", settings.address, answer)?;
    tracing::info!("metrics are at http://{}/metrics", settings.address);
    Ok(page)
}
