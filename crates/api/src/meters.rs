//! What monitoring reads of the API: the option `metrics` under `rest_cherrypy`.
//!
//! Invariant: no label has a value that a caller has chosen.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use halite_metrics::pages::{self, Answer, OPEN_METRICS, Page};
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
            durations: on.timing("halite.api.requests.duration", "What answers take", "page"),
            commands: on.count("halite.api.commands", "Commands", &["client", "result"]),
            logins: on.count(
                "halite.api.logins",
                "Logins, and proofs in low data that were wrong",
                &["result"],
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

    /// Somebody has logged in, or has not proven who they are.
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
    let listen = || -> io::Result<tokio::net::TcpListener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        tokio::net::TcpListener::from_std(listener)
    };
    let listener = listen().map_err(|source| ServeError::Listen { address, source })?;
    for (name, help, read) in gauges {
        on.gauge(name, help, move || {
            f64::from(u32::try_from(read()).unwrap_or(u32::MAX))
        });
    }
    let answer: Arc<Answer> = Arc::new(move |path| {
        let page = || match on.page() {
            Ok(body) => Page {
                status: 200,
                content_type: OPEN_METRICS,
                body,
            },
            Err(error) => Page::text(500, &format!("could not write the page: {error}")),
        };
        (path == "/metrics").then(page)
    });
    tracing::info!("metrics are at http://{address}/metrics");
    Ok(tokio::spawn(pages::serve(
        listener,
        answer,
        std::future::pending(),
    )))
}
