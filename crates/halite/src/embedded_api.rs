//! The API within `salt-master`: `api: embedded`.
//!
//! Invariants: it has threads of its own, so that none of its requests holds up a
//! minion; it begins with the master and ends before it; if it ends by itself it begins
//! again, and the master goes on.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use halite_config::{ApiHost, ConfigError, MasterConfig, Warning};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Threads that serve requests.
const ASYNC_THREADS: usize = 2;

/// Threads for what blocks: files, and the names of users.
const BLOCKING_THREADS_MAX: usize = 8;

/// The pause before an API that has ended by itself begins again.
const AGAIN_AFTER: Pause = Pause {
    first: Duration::from_secs(1),
    most: Duration::from_secs(60),
};

/// A pause that is twice as long each time, up to a limit.
#[derive(Clone, Copy)]
struct Pause {
    first: Duration,
    most: Duration,
}

/// Open files that leave enough to minions whatever the API is asked for.
const OPEN_FILES_MIN: u64 = 16_384;

/// An API that listens.
pub struct EmbeddedApi {
    serving: JoinHandle<()>,
    end: watch::Sender<bool>,
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
    if !is_embedded(config) {
        return Vec::new();
    }
    let mut doubts = halite_api::doubts(config);
    if config.max_open_files < OPEN_FILES_MIN {
        let text = format!(
            "max_open_files: with less than {OPEN_FILES_MIN} connections to the API (`api: embedded`) \
             can leave none to minions"
        );
        doubts.extend(config.odd_within("max_open_files", &[], &text));
    }
    doubts
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
        let mut bound = Some(halite_api::Server::bind(Arc::clone(&app))?);
        let (end, ended) = watch::channel(false);
        let begin = move || {
            let bound = bound.take().map_or_else(
                || halite_api::Server::bind(Arc::clone(&app)).map_err(anyhow::Error::from),
                Ok,
            );
            let mut ended = ended.clone();
            bound.map(|server| {
                server.run(async move {
                    // Also when the master has ended without a word.
                    let _ = ended.wait_for(|ended| *ended).await;
                })
            })
        };
        let is_told = end.subscribe();
        let serving = runtime.spawn(keep(begin, AGAIN_AFTER, move || {
            *is_told.borrow() || is_told.has_changed().is_err()
        }));
        Ok(Some(Self {
            serving,
            end,
            _threads: threads,
        }))
    }

    /// Ends it: streams at once, commands within their moment.
    pub async fn stop(self) {
        self.end.send_replace(true);
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the API has failed");
        }
    }
}

/// Runs what `begin` begins until it is told to end, again if it ends before. Its session
/// table outlives it, its connections do not.
async fn keep<R>(mut begin: impl FnMut() -> Result<R>, again: Pause, is_told: impl Fn() -> bool)
where
    R: Future<Output = ()> + Send + 'static,
{
    let mut pause = again.first;
    loop {
        let begun = Instant::now();
        let why = match begin() {
            Ok(run) => tokio::spawn(run).await.err().map(|error| error.to_string()),
            Err(error) => Some(format!("{error:#}")),
        };
        if is_told() {
            return;
        }
        let why = why.unwrap_or_else(|| "nobody has told it to".to_owned());
        tracing::error!(why, again_in = ?pause, "the API has ended and begins again");
        if begun.elapsed() > again.most {
            pause = again.first;
        }
        sleep(pause).await;
        pause = (pause * 2).min(again.most);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    /// A run that a mistake ends.
    async fn broken() {
        let nothing: Option<()> = None;
        assert!(nothing.is_some(), "a mistake");
    }

    const SHORT: Pause = Pause {
        first: Duration::from_millis(10),
        most: Duration::from_millis(40),
    };

    #[tokio::test]
    async fn an_api_that_ends_by_itself_begins_again_until_it_is_told_to_end() {
        let begun = AtomicUsize::new(0);
        let begin = || match begun.fetch_add(1, SeqCst) {
            1 => anyhow::bail!("the port is taken"),
            _ => Ok(broken()),
        };
        let from = Instant::now();
        keep(begin, SHORT, || begun.load(SeqCst) == 5).await;
        assert_eq!(begun.load(SeqCst), 5);
        // One pause, two, four and no more.
        assert!(from.elapsed() >= SHORT.first * (1 + 2 + 4 + 4));
    }

    #[tokio::test]
    async fn an_api_that_is_told_to_end_does_not_begin_again() {
        let begun = AtomicUsize::new(0);
        let begin = || {
            begun.fetch_add(1, SeqCst);
            Ok(async {})
        };
        keep(begin, SHORT, || true).await;
        assert_eq!(begun.load(SeqCst), 1);
    }
}
