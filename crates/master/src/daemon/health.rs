//! Whether this master takes minions: for `health_port`, and in the health files of 3008.
//!
//! Invariant: the answer of `health_port` never waits for a disk. The files follow it, as
//! soon as their directory can be used.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::limits::HEALTH_FILES_MAX;

/// The files, for probes that look at them.
const STARTUP: &str = "startup";
const READY: &str = "ready";
const ALIVE: &str = "alive";

/// The state, which clones share.
#[derive(Clone, Debug)]
pub(crate) struct Health(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    /// It has started, and is neither draining nor ending.
    is_serving: AtomicBool,
    /// The keys of minions can be read.
    has_keys: AtomicBool,
    /// Held while the file `ready` is made what the state says.
    files: Mutex<()>,
}

impl Health {
    /// Removes what an earlier run left.
    pub(crate) fn begin(cachedir: &Path) -> Self {
        let this = Self(Arc::new(Inner {
            dir: cachedir.join("health"),
            is_serving: AtomicBool::new(false),
            has_keys: AtomicBool::new(true),
            files: Mutex::default(),
        }));
        if let Err(error) = fs::create_dir_all(&this.0.dir) {
            tracing::warn!("could not make {}: {error}", this.0.dir.display());
        }
        this.remove(&[STARTUP, READY, ALIVE]);
        this
    }

    /// Records that the master has started and takes requests.
    pub(crate) fn ready(&self) {
        self.0.is_serving.store(true, Ordering::Relaxed);
        self.touch(STARTUP);
        self.touch(ALIVE);
        self.follow();
    }

    /// Records that balancers should no longer send minions here; the master still runs.
    pub(crate) async fn unready(&self) {
        self.0.is_serving.store(false, Ordering::Relaxed);
        self.on_disk(Self::follow).await;
    }

    /// Records whether the keys of minions can be read. The file follows by itself.
    pub(crate) fn set_has_keys(&self, has_keys: bool) {
        self.0.has_keys.store(has_keys, Ordering::Relaxed);
        let this = self.clone();
        spawn_blocking(move || this.follow());
    }

    /// Whether it takes minions.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.is_serving.load(Ordering::Relaxed) && self.has_keys()
    }

    /// Whether the keys of minions can be read.
    pub(crate) fn has_keys(&self) -> bool {
        self.0.has_keys.load(Ordering::Relaxed)
    }

    /// Records that the master still runs. Waits for the disk.
    pub(crate) fn alive(&self) {
        self.touch(ALIVE);
    }

    /// Records that the master does not run.
    pub(crate) async fn end(&self) {
        self.0.is_serving.store(false, Ordering::Relaxed);
        self.on_disk(|this| this.remove(&[STARTUP, READY, ALIVE]))
            .await;
    }

    /// Does something with the files on a thread of its own, and waits for it, though not
    /// for a disk that hangs.
    async fn on_disk(&self, act: impl FnOnce(&Self) + Send + 'static) {
        let this = self.clone();
        let acting = spawn_blocking(move || act(&this));
        if timeout(HEALTH_FILES_MAX, acting).await.is_err() {
            tracing::warn!(
                "the health files in {} are not written or removed: the disk does not answer",
                self.0.dir.display()
            );
        }
    }

    /// Makes the file `ready` what the state says now.
    fn follow(&self) {
        let _files = self.0.files.lock().unwrap_or_else(PoisonError::into_inner);
        match self.is_ready() {
            true => self.touch(READY),
            false => self.remove(&[READY]),
        }
    }

    fn touch(&self, name: &str) {
        let path = self.0.dir.join(name);
        let again = |_| fs::create_dir_all(&self.0.dir).and_then(|()| fs::write(&path, b""));
        if let Err(error) = fs::write(&path, b"").or_else(again) {
            tracing::debug!("could not touch the health file {name}: {error}");
        }
    }

    fn remove(&self, names: &[&str]) {
        for name in names {
            // A missing file is what is wanted.
            let _ = fs::remove_file(self.0.dir.join(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn the_file_ready_follows_the_keys_and_the_drain() {
        let dir = tempfile::tempdir().unwrap();
        let health = Health::begin(dir.path());
        let ready = dir.path().join("health/ready");
        let wait_for = async |wanted: bool| {
            let deadline = Instant::now() + Duration::from_secs(5);
            while ready.exists() != wanted {
                assert!(Instant::now() < deadline, "not {wanted}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(!health.is_ready() && !ready.exists());
        health.ready();
        assert!(health.is_ready() && ready.exists());
        health.set_has_keys(false);
        assert!(!health.is_ready());
        wait_for(false).await;
        health.set_has_keys(true);
        assert!(health.is_ready());
        wait_for(true).await;
        // A master that drains stays so, whatever its keys do.
        health.unready().await;
        assert!(!ready.exists());
        health.set_has_keys(false);
        health.set_has_keys(true);
        assert!(!health.is_ready());
        wait_for(false).await;
        health.end().await;
        assert!(!dir.path().join("health/alive").exists());
    }
}
