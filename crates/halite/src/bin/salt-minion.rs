//! `salt-minion`: serves every master of its list.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use halite::daemon::{self, Daemon, Directory, Process};
use halite::minion;
use halite_cli::options::{DaemonOptions, MinionOptions};
use halite_cli::{Environment, Exit, Screen, minion_status, start};
use halite_config::{
    ConfigError, Draft, LoadOptions, MinionConfig, SourceLocation, Warning, draft_minion,
};
use halite_minion::courier::Courier;
use halite_minion::daemon::Ended;
use halite_minion::daemon::status_report;
use halite_minion::daemon::telemetry;
use halite_minion::limits::THREADS_MAX;
use halite_process::clock::unix_seconds_f64;
use halite_proto::{Map, Value};

/// The exit code when every master has rejected the key (EX_NOPERM), as Salt's.
const EXIT_REJECTED: u8 = 77;

struct Minion;

impl Daemon for Minion {
    type Options = MinionOptions;
    type Config = MinionConfig;

    fn options(options: &MinionOptions) -> &DaemonOptions {
        &options.daemon
    }

    fn command(options: &MinionOptions, config: &MinionConfig, screen: &mut Screen) -> Option<u8> {
        let format = options.out.as_deref();
        if !options.wants_status() {
            return None;
        }
        if let Some(format) = format.filter(|format| !minion_status::is_format(format)) {
            screen.error_line(&format!("salt-minion: --out cannot be {format:?}"));
            return Some(Exit::Usage.code());
        }
        Some(status(config, format, screen).code())
    }

    fn config_file(environment: &Environment) -> Option<PathBuf> {
        environment.minion_config.clone()
    }

    fn load(load: &LoadOptions) -> Result<Draft<MinionConfig>, ConfigError> {
        draft_minion(load)
    }

    fn check(config: &MinionConfig) -> Vec<anyhow::Error> {
        minion::check(config)
    }

    fn doubts(config: &MinionConfig) -> Vec<Warning> {
        let mut doubts = config.doubts();
        doubts.extend(daemon::schedule_doubts(&config.schedule.0, |path, text| {
            config.odd_within("schedule", path, text)
        }));
        let own = config
            .opts()
            .get("extension_modules")
            .and_then(Value::as_str);
        let own = Path::new(own.unwrap_or_default()).join("beacons");
        let is_users = |kind: &str| own.join(format!("{kind}.py")).is_file();
        for (name, text) in halite_minion::beacon_faults(&config.beacons, is_users) {
            doubts.extend(config.odd_within("beacons", &[&name], &text));
        }
        doubts
    }

    fn opts(config: &MinionConfig) -> &Map {
        config.opts()
    }

    fn place_of(config: &MinionConfig, option: &str) -> Option<SourceLocation> {
        config.place_of(option)
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
            permissive_keys: config.permissive_pki_access,
            logging: config.logging(),
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
        let mut setup = minion::setup(&config, true)?;
        // What Salt's functions see of the program that runs them.
        setup.opts.insert("__cli", "salt-minion");
        let started = halite_minion::start::start(setup).await?;
        let (dir, limits) = minion::spool(&config);
        let courier = Courier::open(started.minion.clone(), &dir, limits);
        let metrics = telemetry::open(&config.metrics, &started.minion, &courier)?;
        let rejected_retry = config.rejected_retry;
        drop(config);
        let _served = metrics.map(|page| tokio::spawn(page.serve()));
        let bus = started.minion.bus.clone();
        ready();
        let ended = halite_minion::daemon::run(started, courier, rejected_retry, stop).await;
        // A job may still wait for a master that does not accept the key.
        bus.remove_files();
        Ok(match ended {
            Ended::Stopped => 0,
            Ended::Rejected => EXIT_REJECTED,
        })
    }
}

/// `salt-minion status`.
fn status(config: &MinionConfig, format: Option<&str>, screen: &mut Screen) -> Exit {
    let asked = minion::bus_endpoints(config).and_then(|bus| {
        let runtime = start::runtime().map_err(|stop| anyhow::anyhow!(stop.stderr))?;
        let tags = minion_status::Tags {
            ask: status_report::ASK_TAG,
            answer: status_report::ANSWER_TAG,
        };
        Ok(runtime.block_on(minion_status::ask(&bus, tags))?)
    });
    match asked {
        Ok(status) => minion_status::show(status, format, unix_seconds_f64(), screen),
        Err(error) => {
            screen.error_line(&format!("salt-minion: {error:#}"));
            Exit::Failure
        }
    }
}

fn main() -> ExitCode {
    halite_process::memory::share_heap();
    ExitCode::from(daemon::run::<Minion>())
}
