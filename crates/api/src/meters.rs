//! The metrics of the API: the option `metrics` under `rest_cherrypy`.
//!
//! Invariant: no label has a value that a caller has chosen.

use std::time::Duration;

use halite_metrics::pages::{self, PagePort};
use halite_metrics::{Count, Instruments, MetricsSettings, Timing};
use tokio::task::JoinHandle;

use crate::error::ServeError;

/// Counters and histograms of the API.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    requests: Count,
    durations: Timing,
    commands: Count,
    logins: Count,
    events_dropped: Count,
}

impl Meters {
    /// The meters, and the page that they are on.
    pub(crate) fn new(settings: &MetricsSettings) -> (Self, Instruments) {
        let mut on = Instruments::new(settings);
        let meters = Self {
            requests: on.count(
                "halite.api.requests.answered",
                "Requests answered",
                &["page", "status"],
            ),
            durations: on.timing(
                "halite.api.requests.duration",
                "Time to answer a request",
                "page",
            ),
            commands: on.count("halite.api.commands", "Commands", &["client", "result"]),
            logins: on.count(
                "halite.api.logins",
                "Logins, and failed authentications in low data",
                &["result"],
            ),
            events_dropped: on.count(
                "halite.api.events.dropped",
                "Events dropped because a stream was too slow",
                &["page"],
            ),
        };
        (meters, on)
    }

    /// A request was answered.
    pub(crate) fn answered(&self, page: &str, status: u16, took: Duration) {
        self.requests.add(&[page, &status.to_string()]);
        self.durations.add(page, took);
    }

    /// A command has ended.
    pub(crate) fn command(&self, client: &str, is_ok: bool) {
        let result = if is_ok { "success" } else { "failure" };
        self.commands.add(&[client, result]);
    }

    /// A stream has lost events.
    pub(crate) fn events_dropped(&self, page: &str, count: u64) {
        self.events_dropped.add_many(&[page], count);
    }

    /// A login, or a failed authentication.
    pub(crate) fn login(&self, is_ok: bool) {
        self.logins
            .add(&[if is_ok { "success" } else { "failure" }]);
    }
}

/// A number that is read whenever the page is asked for: its name, what it is, and how
/// to read it.
pub(crate) type Gauge = (
    &'static str,
    &'static str,
    Box<dyn Fn() -> usize + Send + Sync>,
);

/// Serves the page of metrics of an API, until the task is ended.
///
/// # Errors
/// When the address cannot be listened at.
pub(crate) fn serve(
    settings: &MetricsSettings,
    mut on: Instruments,
    gauges: Vec<Gauge>,
) -> Result<JoinHandle<()>, ServeError> {
    let address = settings.address;
    for (name, help, read) in gauges {
        on.gauge(name, help, move || {
            f64::from(u32::try_from(read()).unwrap_or(u32::MAX))
        });
    }
    let page = PagePort::listen(address, pages::metrics(on));
    let page = page.map_err(|source| ServeError::Listen { address, source })?;
    tracing::info!("metrics are at http://{address}/metrics");
    Ok(tokio::spawn(page.serve()))
}
