//! The API within `salt-master`: `api: embedded`.
//!
//! Invariants: it has threads of its own, so that its requests do not delay
//! minions; it begins with the master and ends before it; if it fails it starts
//! again, and the master goes on.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use halite_config::{ApiHost, ConfigError, MasterConfig, Warning};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

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
}

/// One run of the API, with threads of its own: all its tasks end with them.
struct Life {
    run: JoinHandle<()>,
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
            "max_open_files: below {OPEN_FILES_MIN}, connections to the API (`api: embedded`) can \
             leave none for minions"
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
    /// Starts it, where it is asked for: it listens when this returns. For a task of the
    /// master's.
    ///
    /// # Errors
    /// When its address cannot be listened at, or TLS cannot be offered.
    pub fn start(config: MasterConfig) -> Result<Option<Self>> {
        if !is_embedded(&config) {
            return Ok(None);
        }
        // Events are kept for those who are slow to take them.
        halite_process::memory::keep_large_apart();
        for doubt in halite_api::doubts(&config) {
            tracing::warn!("{doubt}");
        }
        let (end, ended) = watch::channel(false);
        let told = ended.clone();
        let mut first = Some(Life::begin(&config, ended.clone())?);
        let begin = move || {
            let life = first.take();
            let life = life.map_or_else(|| Life::begin(&config, ended.clone()), Ok);
            life.map(Life::why_it_ends)
        };
        Ok(Some(Self {
            serving: tokio::spawn(keep(begin, AGAIN_AFTER, told)),
            end,
        }))
    }

    /// Ends it: streams at once, commands within their moment.
    pub async fn stop(self) {
        self.end.send_replace(true);
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the API panicked");
        }
    }
}

impl Life {
    /// Begins one: it listens when this returns.
    fn begin(config: &MasterConfig, mut ended: watch::Receiver<bool>) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(ASYNC_THREADS)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("api")
            .enable_all()
            .build()
            .context("could not start the threads of the API")?;
        let handle = runtime.handle().clone();
        let threads = Threads(Some(runtime));
        let _within = handle.enter();
        let app = Arc::new(halite_api::App::new(config)?);
        let server = halite_api::Server::bind(app)?;
        let run = handle.spawn(server.run(async move {
            // Also when the master has ended without a word.
            let _ = ended.wait_for(|ended| *ended).await;
        }));
        Ok(Self {
            run,
            _threads: threads,
        })
    }

    /// Waits for its end; returns the reason, if it is known. Its connections, streams
    /// and pages have ended then.
    async fn why_it_ends(self) -> Option<String> {
        self.run.await.err().map(|error| error.to_string())
    }
}

/// Runs `begin` until it is told to stop, and again if it ends before.
async fn keep<R: Future<Output = Option<String>>>(
    mut begin: impl FnMut() -> Result<R>,
    again: Pause,
    mut told: watch::Receiver<bool>,
) {
    let mut pause = again.first;
    loop {
        let begun = Instant::now();
        let why = match begin() {
            Ok(run) => run.await,
            Err(error) => Some(format!("{error:#}")),
        };
        if *told.borrow() || told.has_changed().is_err() {
            return;
        }
        let why = why.unwrap_or_else(|| "it was not asked to stop".to_owned());
        if begun.elapsed() > again.most {
            pause = again.first;
        }
        tracing::error!(why, again_in = ?pause, "the API ended unexpectedly; restarting it");
        // The wait ends by itself when the master ends, with or without a word.
        if timeout(pause, told.wait_for(|told| *told)).await.is_ok() {
            return;
        }
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

    const SHORT: Pause = Pause {
        first: Duration::from_millis(10),
        most: Duration::from_millis(40),
    };

    #[tokio::test]
    async fn an_api_that_ends_by_itself_begins_again_until_it_is_told_to_end() {
        let (end, told) = watch::channel(false);
        let begun = AtomicUsize::new(0);
        let begin = || match begun.fetch_add(1, SeqCst) {
            1 => anyhow::bail!("the port is taken"),
            count => {
                end.send_replace(count == 4);
                Ok(async { Some("a mistake".to_owned()) })
            }
        };
        let from = Instant::now();
        keep(begin, SHORT, told).await;
        assert_eq!(begun.load(SeqCst), 5);
        // One pause, two, four and no more.
        assert!(from.elapsed() >= SHORT.first * (1 + 2 + 4 + 4));
    }

    #[tokio::test]
    async fn an_api_that_is_told_to_end_in_its_pause_ends_and_does_not_begin_again() {
        let (end, told) = watch::channel(false);
        let begun = AtomicUsize::new(0);
        let begin = || {
            begun.fetch_add(1, SeqCst);
            Ok(async { None })
        };
        let long = Duration::from_secs(3600);
        let pause = Pause {
            first: long,
            most: long,
        };
        let tell = async {
            while begun.load(SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            end.send_replace(true);
        };
        let within = Duration::from_secs(20);
        let ends = timeout(within, async {
            tokio::join!(keep(begin, pause, told), tell)
        });
        assert!(ends.await.is_ok());
        assert_eq!(begun.load(SeqCst), 1);
    }
}
