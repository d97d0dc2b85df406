//! The API within `salt-master`: `api: embedded`.
//!
//! Invariants: it has threads of its own, so that none of its requests holds up a
//! minion; it begins with the master and ends before it.

use std::sync::Arc;

use anyhow::{Context, Result};
use halite_config::{ApiHost, ConfigError, MasterConfig, Warning};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Threads that serve requests.
const ASYNC_THREADS: usize = 2;

/// Threads for what blocks: files, and the names of users.
const BLOCKING_THREADS_MAX: usize = 8;

/// An API that listens.
pub struct EmbeddedApi {
    serving: JoinHandle<()>,
    end: oneshot::Sender<()>,
    _threads: Threads,
}

/// The threads of an API. They are not waited for: who drops them may be a task.
struct Threads(Option<Runtime>);

/// Whether the master serves the API itself.
fn is_embedded(config: &MasterConfig) -> bool {
    config.api == ApiHost::Embedded
}

/// The mistakes in what the API within a master is to do.
pub fn faults(config: &MasterConfig) -> Vec<ConfigError> {
    match is_embedded(config) {
        true => halite_api::faults(config),
        false => Vec::new(),
    }
}

/// What an administrator should look at there.
pub fn doubts(config: &MasterConfig) -> Vec<Warning> {
    match is_embedded(config) {
        true => halite_api::doubts(config),
        false => Vec::new(),
    }
}

/// The mistake of starting a `salt-api` beside it.
pub fn faults_beside(config: &MasterConfig) -> Option<ConfigError> {
    let why = "the master serves the API itself: do not start salt-api, or remove `api`";
    is_embedded(config).then(|| config.unusable("api", None, "", why.to_owned()))
}

impl EmbeddedApi {
    /// Starts it, where it is asked for: it listens when this returns.
    ///
    /// # Errors
    /// When its address cannot be listened at, or TLS cannot be offered.
    pub fn start(config: &MasterConfig) -> Result<Option<Self>> {
        if !is_embedded(config) {
            return Ok(None);
        }
        // Events are kept for those who are slow to take them.
        halite_process::memory::keep_large_apart();
        let runtime = Builder::new_multi_thread()
            .worker_threads(ASYNC_THREADS)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("api")
            .enable_all()
            .build()
            .context("could not start the threads of the API")?;
        let threads = Threads(Some(runtime));
        let Some(runtime) = &threads.0 else {
            return Ok(None);
        };
        let _within = runtime.enter();
        for doubt in halite_api::doubts(config) {
            tracing::warn!("{doubt}");
        }
        let app = Arc::new(halite_api::App::new(config)?);
        let server = halite_api::Server::bind(app)?;
        let (end, ended) = oneshot::channel();
        let serving = runtime.spawn(server.run(async {
            // Also when the master has ended without a word.
            let _ = ended.await;
        }));
        Ok(Some(Self {
            serving,
            end,
            _threads: threads,
        }))
    }

    /// Ends it: streams at once, commands within their moment.
    pub async fn stop(self) {
        let _ = self.end.send(());
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the API has failed");
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
