//! Options about jobs and their records.

use std::time::Duration;

use halite_config::MasterConfig;

/// What is read of the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobSettings {
    /// `unique_jid`.
    pub(crate) unique_jid: bool,
    /// `job_cache`, unless an `ext_job_cache` gets the returns.
    pub(crate) stores_returns: bool,
    /// `job_cache_store_endtime`.
    pub(crate) stores_endtime: bool,
    /// `runner_returns`.
    pub(crate) stores_runner_returns: bool,
    /// `keep_jobs_seconds`.
    pub(crate) keep: Duration,
    /// `own_jobs_max_size`, in bytes.
    pub(crate) own_jobs_bytes_max: u64,
    /// `job_replay_window`.
    pub(crate) replay_window_s: u64,
}

impl JobSettings {
    /// Reads the options.
    pub(crate) fn from_config(config: &MasterConfig) -> Self {
        Self {
            unique_jid: config.unique_jid,
            stores_returns: config.job_cache && config.ext_job_cache.is_empty(),
            stores_endtime: config.job_cache_store_endtime,
            stores_runner_returns: config.runner_returns,
            keep: Duration::from_secs(config.keep_jobs_seconds),
            own_jobs_bytes_max: match config.own_jobs_max_size {
                0 => u64::MAX,
                mebibytes => mebibytes.saturating_mul(1024 * 1024),
            },
            replay_window_s: config.job_replay_window,
        }
    }
}
