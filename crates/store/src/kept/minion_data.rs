//! Kinds of data about minions.

use std::collections::HashMap;
use std::sync::Arc;

use halite_proto::{Map, MinionId};

/// A kind of data about minions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bank {
    /// The grains of the last pillar request.
    Grains,
    /// The pillar compiled last.
    Pillar,
    /// The functions that the minion published.
    Mine,
}

impl Bank {
    /// All banks.
    pub const ALL: [Self; 3] = [Self::Grains, Self::Pillar, Self::Mine];

    /// Salt's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grains => "grains",
            Self::Pillar => "pillar",
            Self::Mine => "mine",
        }
    }
}

/// By minion the entries that were asked for, and maybe others.
pub type Parts = Arc<HashMap<MinionId, Map>>;
