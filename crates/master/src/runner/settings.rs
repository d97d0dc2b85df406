//! Options about runners.

use std::path::PathBuf;

use halite_config::MasterConfig;
use halite_transport::fleet::Transport;

/// What is read of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct RunnerSettings {
    /// `runner_timeout`; zero means no limit.
    pub(crate) timeout_s: u64,
    /// `sqlite_queue_dir`.
    pub(crate) queue_dir: PathBuf,
    /// `ret_port`, where other masters are asked as well.
    pub(crate) ret_port: u16,
    /// `transport`, by which they are asked.
    pub(crate) transport: Transport,
}

impl RunnerSettings {
    /// Reads the options.
    pub(crate) fn from_config(config: &MasterConfig) -> Self {
        Self {
            timeout_s: config.runner_timeout,
            queue_dir: config.sqlite_queue_dir.clone(),
            ret_port: config.ret_port.0,
            transport: config.transport,
        }
    }
}
