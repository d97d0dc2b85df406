//! The options of the master, by the part that reads them.
//!
//! Invariant: options are read in the `settings.rs` of each part and nowhere else;
//! the rest in `General::opts` is passed on, or is a list of rules.

use std::path::Path;
use std::time::Duration;

use halite_call::extensions::Engine;
use halite_config::MasterConfig;
use halite_metrics::MetricsSettings;
use halite_proto::Map;

use super::engines;
use super::event_returns::Plan;
use crate::access::settings::AccessSettings;
use crate::cluster::settings::ClusterSettings;
use crate::core::rules::Rules;
use crate::error::StartError;
use crate::files::settings::FileSettings;
use crate::fleet::settings::FleetSettings;
use crate::jobs::settings::JobSettings;
use crate::keys::settings::KeySettings;
use crate::pillar::tops::Tops;
use crate::publishing::settings::PublishingSettings;
use crate::reactor::{ReactorSettings, configured_rules};
use crate::runner::RunnerSettings;
use crate::serving::settings::{ServingSettings, SocketSettings};
use crate::settings::{General, clamped};

/// The settings of the master.
pub(crate) struct Settings {
    pub(crate) general: General,
    pub(crate) sockets: SocketSettings,
    pub(crate) serving: ServingSettings,
    pub(crate) cluster: Option<ClusterSettings>,
    pub(crate) keys: KeySettings,
    pub(crate) access: AccessSettings,
    pub(crate) publishing: PublishingSettings,
    pub(crate) fleet: FleetSettings,
    pub(crate) jobs: JobSettings,
    pub(crate) files: FileSettings,
    pub(crate) tops: Tops,
    pub(crate) runners: RunnerSettings,
    pub(crate) reactor: ReactorSettings,
    /// `reactor`.
    pub(crate) reactor_rules: Rules,
    /// `max_event_size`.
    pub(crate) event_bytes_max: usize,
    /// `metrics`, if it is on.
    pub(crate) metrics: Option<MetricsSettings>,
    /// `master_stats_event_iter`, if `master_stats` is on.
    pub(crate) stats_every: Option<Duration>,
    pub(crate) tasks: TaskSettings,
}

/// The settings of the tasks that run by themselves.
pub(crate) struct TaskSettings {
    /// `schedule`.
    pub(crate) schedule: Map,
    pub(crate) presence_events: bool,
    /// `event_return` and what belongs to it.
    pub(crate) event_returns: Plan,
    pub(crate) engines: Vec<Engine>,
}

impl Settings {
    /// The directory with the files that say how this master is. Masters that share
    /// `cachedir` have one each.
    pub(crate) fn health_dir(&self) -> &Path {
        match &self.cluster {
            Some(cluster) if !cluster.isolated => &self.general.own_cachedir,
            _ => &self.general.cachedir,
        }
    }

    /// Reads the options.
    ///
    /// # Errors
    /// When a value has the right type and still cannot be used.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        Ok(Self {
            general: General::from_config(config)?,
            sockets: SocketSettings::from_config(config),
            serving: ServingSettings::from_config(config),
            cluster: ClusterSettings::from_config(config)?,
            keys: KeySettings::from_config(config)?,
            access: AccessSettings::from_config(config)?,
            publishing: PublishingSettings::from_config(config)?,
            fleet: FleetSettings::from_config(config),
            jobs: JobSettings::from_config(config),
            files: FileSettings::from_config(config)?,
            tops: tops(config)?,
            runners: RunnerSettings::from_config(config),
            reactor: ReactorSettings::from_config(config),
            reactor_rules: configured_rules(config),
            metrics: metrics(config)?,
            event_bytes_max: clamped(config.max_event_size),
            stats_every: config
                .master_stats
                .then(|| Duration::from_secs(config.master_stats_event_iter)),
            tasks: TaskSettings {
                schedule: config.schedule.0.clone(),
                presence_events: config.presence_events,
                event_returns: event_returns(config)?,
                engines: configured_engines(config)?,
            },
        })
    }
}

fn event_returns(config: &MasterConfig) -> Result<Plan, StartError> {
    Plan::of(config).map_err(|error| StartError::Option {
        option: error.option,
        why: error.why,
    })
}

fn configured_engines(config: &MasterConfig) -> Result<Vec<Engine>, StartError> {
    engines::read(&config.engines.0).map_err(|why| StartError::Option {
        option: "engines",
        why,
    })
}

fn metrics(config: &MasterConfig) -> Result<Option<MetricsSettings>, StartError> {
    MetricsSettings::read(&config.metrics, "salt-master").map_err(|error| StartError::Option {
        option: "metrics",
        why: error.to_string(),
    })
}

fn tops(config: &MasterConfig) -> Result<Tops, StartError> {
    Tops::read(&config.master_tops.0).map_err(|why| StartError::Option {
        option: "master_tops",
        why,
    })
}
