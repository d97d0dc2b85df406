//! `metrics`: the page that monitoring asks for.

use std::net::TcpListener;
use std::sync::Arc;

use halite_metrics::pages::{self, Answer, OPEN_METRICS, Page};
use halite_metrics::{Instruments, MetricsSettings};
use tokio::task::JoinHandle;

use crate::error::StartError;
use crate::fleet::Fleet;

/// A page that is to be served.
pub(super) struct MetricsPage {
    listener: TcpListener,
    instruments: Instruments,
}

impl MetricsPage {
    /// Listens; whoever asks already waits until it is served.
    ///
    /// # Errors
    /// When the address cannot be listened at.
    pub(super) fn open(
        settings: &MetricsSettings,
        mut instruments: Instruments,
        fleet: &Arc<Fleet>,
    ) -> Result<Self, StartError> {
        let address = settings.address;
        let listen = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(|source: std::io::Error| StartError::Option {
            option: "metrics",
            why: format!("could not listen at {address}: {source}"),
        })?;
        let fleet = Arc::clone(fleet);
        let help = "Minions that are connected";
        instruments.gauge("salt.master.connected_minions.count", help, move || {
            let count = u32::try_from(fleet.connected().len());
            f64::from(count.unwrap_or(u32::MAX))
        });
        tracing::info!("metrics are at http://{address}/metrics");
        Ok(Self {
            listener,
            instruments,
        })
    }

    /// Serves it, until the task is ended.
    pub(super) fn serve(self) -> JoinHandle<()> {
        let instruments = self.instruments;
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
        let listener = self.listener;
        tokio::spawn(async move {
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => pages::serve(listener, answer, std::future::pending()).await,
                Err(error) => tracing::error!(%error, "the page of metrics cannot be served"),
            }
        })
    }
}
