//! `salt-minion`: serves every master of its list.

use std::future::Future;
use std::process::ExitCode;

use anyhow::Result;
use halite::daemon::{self, Daemon, Directory, Process};
use halite::minion;
use halite_cli::options::{DaemonOptions, MinionOptions};
use halite_config::{ConfigError, LoadOptions, Loaded, MinionConfig, load_minion};
use halite_minion::courier::Courier;
use halite_minion::daemon::Ended;
use halite_minion::limits::THREADS_MAX;

/// The exit code when every master has rejected the key (EX_NOPERM), as Salt's.
const EXIT_REJECTED: u8 = 77;

struct Minion;

impl Daemon for Minion {
    type Options = MinionOptions;
    type Config = MinionConfig;

    fn options(options: &MinionOptions) -> &DaemonOptions {
        &options.daemon
    }

    fn load(load: &LoadOptions) -> Result<Loaded<MinionConfig>, ConfigError> {
        load_minion(load)
    }

    fn check(config: &MinionConfig) -> Result<()> {
        minion::setup(config, true).map(drop)
    }

    fn process(config: &MinionConfig) -> Process {
        let directories = Directory::of(&config.pki_dir, [&config.cachedir, &config.sock_dir]);
        Process {
            user: config.user.clone(),
            pidfile: config.pidfile.clone(),
            directories: match config.verify_env {
                true => directories,
                false => Vec::new(),
            },
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
            blocking_threads: THREADS_MAX,
            open_files: None,
        }
    }

    async fn serve(
        config: MinionConfig,
        ready: impl FnOnce() + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<u8> {
        let setup = minion::setup(&config, true)?;
        let started = halite_minion::start::start(setup).await?;
        let (dir, limits) = minion::spool(&config);
        let courier = Courier::open(started.minion.clone(), &dir, limits)?;
        let rejected_retry = config.rejected_retry;
        drop(config);
        ready();
        let ended = halite_minion::daemon::run(started, courier, rejected_retry, stop).await;
        Ok(match ended {
            Ended::Stopped => 0,
            Ended::Rejected => EXIT_REJECTED,
        })
    }
}

fn main() -> ExitCode {
    ExitCode::from(daemon::run::<Minion>())
}
