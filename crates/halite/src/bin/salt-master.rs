//! `salt-master`: commands minions.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use halite::daemon::{self, Daemon, Directory, Process};
use halite_cli::Environment;
use halite_cli::options::{DaemonOptions, MasterOptions};
use halite_config::{ConfigError, LoadOptions, Loaded, MasterConfig, load_master};
use halite_master::limits::BLOCKING_THREADS_MAX;
use halite_process::password;

struct Master;

impl Daemon for Master {
    type Options = MasterOptions;
    type Config = MasterConfig;

    fn options(options: &MasterOptions) -> &DaemonOptions {
        &options.daemon
    }

    fn config_file(environment: &Environment) -> Option<PathBuf> {
        environment.master_config.clone()
    }

    fn load(load: &LoadOptions) -> Result<Loaded<MasterConfig>, ConfigError> {
        load_master(load)
    }

    fn check(config: &MasterConfig) -> Result<()> {
        halite_master::Daemon::check(config).map_err(Into::into)
    }

    fn as_root(config: &MasterConfig) -> Result<()> {
        halite_master::prepare_local_keys(config).map_err(Into::into)
    }

    fn process(config: &MasterConfig) -> Process {
        let directories = Directory::of(&config.pki_dir, [&config.cachedir, &config.sock_dir]);
        Process {
            user: config.user.clone(),
            pidfile: config.pidfile.clone(),
            directories: match config.verify_env {
                true => directories,
                false => Vec::new(),
            },
            permissive_keys: config.permissive_pki_access,
            log_level: config.log_level.clone(),
            log_file: config.log_file.clone(),
            log_level_file: config.log_level_logfile.clone(),
            log_console: (
                config.log_fmt_console.clone(),
                config
                    .log_datefmt_console
                    .clone()
                    .or_else(|| config.log_datefmt.clone()),
            ),
            log_lines: (
                config.log_fmt_logfile.clone(),
                config.log_datefmt_logfile.clone(),
            ),
            log_granular: daemon::granular(&config.log_granular_levels),
            async_threads: 1,
            blocking_threads: BLOCKING_THREADS_MAX,
            open_files: Some(config.max_open_files),
        }
    }

    async fn serve(
        config: MasterConfig,
        ready: impl FnOnce() + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<u8> {
        let master = halite_master::Daemon::start(&config)?;
        drop(config);
        ready();
        master.run(stop).await;
        Ok(0)
    }
}

/// What group and others may never do with a file of the master.
const OTHERS_WRITE: u32 = 0o022;

fn main() -> ExitCode {
    // The master starts itself again to ask PAM about one password.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == password::FLAG)
    {
        return ExitCode::from(password::helper());
    }
    // Whoever starts it may leave more open than is good for a cache of
    // everybody's results; nobody else writes anything here.
    let inherited = halite_process::umask(OTHERS_WRITE);
    halite_process::umask(inherited | OTHERS_WRITE);
    ExitCode::from(daemon::run::<Master>())
}
