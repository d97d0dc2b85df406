//! Options about the fleet and the data that is kept of it.

use halite_config::MasterConfig;
use halite_proto::Value;

use crate::core::peer::Peers;
use crate::settings::clamped;

/// What is read of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct FleetSettings {
    /// The port that minions are told to listen at.
    pub(crate) publish_port: u16,
    /// Zero means no limit.
    pub(crate) max_minions: usize,
    /// `order_masters`: there may be masters below with minions of their own.
    pub(crate) order_masters: bool,
    /// `minion_data_cache`.
    pub(crate) keeps_data: bool,
    /// `minion_data_cache`, or `enforce_mine_cache`.
    pub(crate) keeps_mine: bool,
    /// `minion_data_cache_events`.
    pub(crate) data_cache_events: bool,
    /// `target_uncached_minions`.
    pub(crate) targets_uncached: bool,
    /// `peer`, `peer_run` and `mine_get`.
    pub(crate) peers: Peers,
}

impl FleetSettings {
    /// Reads the options.
    pub(crate) fn from_config(config: &MasterConfig) -> Self {
        let enforces_mine = config.opts().get("enforce_mine_cache");
        Self {
            publish_port: config.publish_port.0,
            max_minions: clamped(config.max_minions),
            order_masters: config.order_masters,
            keeps_data: config.minion_data_cache,
            keeps_mine: config.minion_data_cache || enforces_mine.is_some_and(Value::is_true),
            data_cache_events: config.minion_data_cache_events,
            targets_uncached: config.target_uncached_minions,
            peers: Peers::from_opts(config.opts()),
        }
    }
}
