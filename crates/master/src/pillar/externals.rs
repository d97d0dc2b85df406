//! Finds external pillars of the configuration that do not exist anywhere.

use halite_call::extensions::{self, ExtensionKind};
use halite_config::{ConfigError, MasterConfig};

/// The entries of `ext_pillar` that are nowhere: not here, not among users'
/// modules, and not in an installed Salt.
pub fn unknown_external_pillars(config: &MasterConfig) -> Vec<ConfigError> {
    config.unknown_external_pillars(|name| {
        halite_pillar::EXTERNAL_PILLARS.contains(&name)
            || will_be_synced(config, name)
            || !extensions::is_missing(
                config.opts(),
                halite_state_run::registry(),
                ExtensionKind::Pillars,
                name,
                "ext_pillar",
            )
    })
}

/// Whether `saltutil.sync_pillar` would fetch a module of this name: it may run
/// only once the master is there.
fn will_be_synced(config: &MasterConfig, name: &str) -> bool {
    let mut dirs = config.file_roots.values().flatten();
    dirs.any(|dir| dir.join("_pillar").join(format!("{name}.py")).is_file())
}
