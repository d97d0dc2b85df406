//! `salt-api`: Salt's REST interface, beside a master.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use halite::daemon::{self, Daemon, Process};
use halite_cli::Environment;
use halite_cli::options::{ApiOptions, DaemonOptions};
use halite_config::{
    ConfigError, Draft, LoadOptions, MasterConfig, SourceLocation, Warning, draft_client,
};
use halite_process::memory;
use halite_proto::Map;

/// Threads for what blocks: files, and the names of users.
const BLOCKING_THREADS_MAX: usize = 8;

/// Threads that serve requests.
const ASYNC_THREADS: usize = 2;

/// Descriptors: for each connection one, and one more while it waits for
/// minions.
const OPEN_FILES: u64 = 16_384;

struct Api;

impl Daemon for Api {
    type Options = ApiOptions;
    type Config = MasterConfig;

    const PID_FILE: &'static str = "api_pidfile";

    fn options(options: &ApiOptions) -> &DaemonOptions {
        &options.daemon
    }

    fn config_file(environment: &Environment) -> Option<PathBuf> {
        environment.master_config.clone()
    }

    fn load(load: &LoadOptions) -> Result<Draft<MasterConfig>, ConfigError> {
        draft_client(load)
    }

    fn faults(config: &MasterConfig) -> Vec<ConfigError> {
        let mut faults = halite_api::faults(config);
        faults.extend(halite::embedded_api::faults_beside(config));
        faults
    }

    fn check(_: &MasterConfig) -> Vec<anyhow::Error> {
        Vec::new()
    }

    fn doubts(config: &MasterConfig) -> Vec<Warning> {
        halite_api::doubts(config)
    }

    fn opts(config: &MasterConfig) -> &Map {
        config.opts()
    }

    fn place_of(config: &MasterConfig, option: &str) -> Option<SourceLocation> {
        config.place_of(option)
    }

    fn process(config: &MasterConfig) -> Process {
        let mut logging = config.logging();
        logging.file.clone_from(&config.api_logfile);
        Process {
            user: config.user.clone(),
            pidfile: config.api_pidfile.clone(),
            directories: Vec::new(),
            permissive_keys: config.permissive_pki_access,
            logging,
            async_threads: ASYNC_THREADS,
            blocking_threads: BLOCKING_THREADS_MAX,
            open_files: Some(OPEN_FILES),
        }
    }

    async fn serve(
        config: MasterConfig,
        ready: impl FnOnce() + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<u8> {
        let app = Arc::new(halite_api::App::new(&config)?);
        for doubt in halite_api::doubts(&config) {
            tracing::warn!("{doubt}");
        }
        drop(config);
        let server = halite_api::Server::bind(app)?;
        ready();
        server.run(stop).await;
        Ok(0)
    }
}

fn main() -> ExitCode {
    // Events are kept for those who are slow to take them.
    memory::keep_large_apart();
    ExitCode::from(daemon::run::<Api>())
}
