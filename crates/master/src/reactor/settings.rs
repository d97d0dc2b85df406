//! Options about the reactor.

use halite_config::MasterConfig;

use crate::core::rules::Rules;
use crate::settings::clamped;

/// What is read of the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReactorSettings {
    /// `reactor_worker_threads`.
    pub(crate) threads: usize,
    /// `reactor_worker_hwm`.
    pub(crate) waiting_max: usize,
}

impl ReactorSettings {
    /// Reads the options.
    pub(crate) fn from_config(config: &MasterConfig) -> Self {
        Self {
            threads: clamped(config.reactor_worker_threads),
            waiting_max: clamped(config.reactor_worker_hwm),
        }
    }
}

/// `reactor`: which tags call for which files.
pub(crate) fn configured_rules(config: &MasterConfig) -> Rules {
    let rules = config.reactor.0.iter().cloned();
    Rules::new(rules.map(|rule| (rule.tag, rule.files)))
}
