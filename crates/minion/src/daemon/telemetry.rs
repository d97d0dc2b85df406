//! `metrics`: the metrics of a minion, under Salt's names where Salt has them.
//!
//! Invariant: a minion without the option measures nothing and listens nowhere.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use halite_metrics::pages::{self, PagePort};
use halite_metrics::{Instruments, MetricsSettings};
use halite_proto::Map;
use thiserror::Error;

use crate::courier::Courier;
use crate::minion::Meters;
use crate::minion::Minion;

/// Why metrics cannot be served.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// The option has a mistake.
    #[error("metrics")]
    Option(#[from] halite_metrics::Mistake),
    /// The address cannot be listened at.
    #[error("metrics: could not listen at {address}")]
    Listen {
        /// `prometheus: host` and `port`.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
}

/// Checks the option.
///
/// # Errors
/// When it has a mistake.
pub fn check(option: &Map) -> Result<(), MetricsError> {
    settings(option).map(drop)
}

fn settings(option: &Map) -> Result<Option<MetricsSettings>, MetricsError> {
    Ok(MetricsSettings::read(option, "salt-minion")?)
}

/// Listens where the option says, and begins to measure; `None` where it is off. The
/// page is served for as long as the minion runs.
///
/// # Errors
/// When the option has a mistake, or the address is taken.
pub fn open(
    option: &Map,
    minion: &Arc<Minion>,
    courier: &Arc<Courier>,
) -> Result<Option<PagePort>, MetricsError> {
    let Some(settings) = settings(option)? else {
        return Ok(None);
    };
    let mut on = Instruments::new(&settings);
    let meters = Meters::new(&mut on);
    gauges(&mut on, minion, courier);
    // It is opened once.
    let _ = minion.meters.set(meters);
    let address = settings.address;
    let listening = PagePort::listen(address, pages::metrics(on));
    let page = listening.map_err(|source| MetricsError::Listen { address, source })?;
    tracing::info!("metrics are at http://{address}/metrics");
    Ok(Some(page))
}

/// At most 4 GiB, which is more than returns may take.
fn large_number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn gauges(on: &mut Instruments, minion: &Arc<Minion>, courier: &Arc<Courier>) {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let of = Arc::clone(minion);
    on.gauge(
        "halite.minion.masters.configured",
        "Masters in the minion's list",
        move || number(of.masters.len()),
    );
    let of = Arc::clone(minion);
    on.gauge(
        "halite.minion.masters.ready",
        "Masters that the minion is connected to",
        move || number(of.masters.iter().filter(|master| master.is_ready()).count()),
    );
    let of = Arc::clone(minion);
    on.gauge("halite.minion.jobs.running", "Jobs that run", move || {
        number(of.jobs().all_running().count())
    });
    let of = Arc::clone(courier);
    on.gauge(
        "halite.minion.returns.waiting",
        "Returns that no master has stored yet",
        move || number(of.waiting()),
    );
    let of = Arc::clone(courier);
    on.gauge(
        "halite.minion.returns.waiting_bytes",
        "Bytes of the returns that no master has stored yet",
        move || large_number(of.waiting_state().bytes),
    );
    let of = Arc::clone(courier);
    on.gauge(
        "halite.minion.returns.oldest_seconds",
        "Age of the oldest return that no master has stored yet",
        move || of.waiting_state().oldest.as_secs_f64(),
    );
    let of = Arc::clone(courier);
    on.total(
        "halite.minion.returns.dropped",
        "Returns that were dropped",
        move || of.waiting_state().dropped,
    );
}
