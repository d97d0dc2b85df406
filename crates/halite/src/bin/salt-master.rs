//! `salt-master`: commands minions.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use halite::daemon::{self, Daemon, Directory, Process};
use halite::embedded_api::{self, EmbeddedApi};
use halite_cli::Environment;
use halite_cli::options::{DaemonOptions, MasterOptions};
use halite_config::{
    ConfigError, Draft, LoadOptions, MasterConfig, SourceLocation, Warning, draft_master,
};
use halite_master::limits::BLOCKING_THREADS_MAX;
use halite_process::password;
use halite_proto::Map;

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

    fn load(load: &LoadOptions) -> Result<Draft<MasterConfig>, ConfigError> {
        draft_master(load)
    }

    fn faults(config: &MasterConfig) -> Vec<ConfigError> {
        let mut faults = halite_master::unknown_external_pillars(config);
        faults.extend(halite_master::unusable_remotes(config));
        faults.extend(halite_master::unusable_places(config));
        faults.extend(embedded_api::faults(config));
        faults
    }

    fn check(config: &MasterConfig) -> Vec<anyhow::Error> {
        let checked = halite_master::Daemon::check(config).map_err(Into::into);
        checked.err().into_iter().collect()
    }

    fn as_root(config: &MasterConfig) -> Result<()> {
        halite_master::prepare_local_keys(config).map_err(Into::into)
    }

    fn doubts(config: &MasterConfig) -> Vec<Warning> {
        let mut doubts = config.doubts();
        doubts.extend(halite_master::odd_ids(config));
        doubts.extend(halite_master::unencrypted_stores(config));
        doubts.extend(embedded_api::doubts(config));
        doubts.extend(daemon::schedule_doubts(&config.schedule.0, |path, text| {
            config.odd_within("schedule", path, text)
        }));
        doubts
    }

    fn opts(config: &MasterConfig) -> &Map {
        config.opts()
    }

    fn place_of(config: &MasterConfig, option: &str) -> Option<SourceLocation> {
        config.place_of(option)
    }

    fn process(config: &MasterConfig) -> Process {
        let mut directories = Directory::of(&config.pki_dir, [&config.cachedir, &config.sock_dir]);
        if config.is_clustered() {
            directories.push(Directory {
                path: config.keys_dir().to_owned(),
                holds_keys: true,
            });
        }
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
        let mut api = match EmbeddedApi::start(config) {
            Ok(api) => api,
            Err(error) => {
                // Who has found the master meanwhile is handed over.
                master.run(std::future::ready(())).await;
                return Err(error);
            }
        };
        ready();
        // Commands of the API's callers need the master: it ends later.
        let stop = async {
            stop.await;
            if let Some(api) = api.take() {
                api.stop().await;
            }
        };
        master.run(stop).await;
        if let Some(api) = api {
            api.stop().await;
        }
        Ok(0)
    }
}

fn main() -> ExitCode {
    // The master starts itself again to ask PAM about one password.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|arg| arg == password::FLAG)
    {
        return ExitCode::from(password::helper());
    }
    ExitCode::from(daemon::run::<Master>())
}
