//! Whose pillar is compiled.

use std::sync::Arc;

use halite_proto::{Map, Value};

use crate::tree::GivenRoots;

/// Whose pillar is wanted, and how far it differs from the usual one.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The minion.
    pub id: String,
    /// Its grains.
    pub grains: Arc<Map>,
    /// The environment of its states.
    pub saltenv: Option<String>,
    /// The environment of its pillar.
    pub pillarenv: Option<String>,
    /// Values laid under and over the pillar (`pillar=`).
    pub overrides: Map,
    /// What the minion says to external pillars.
    pub extra_minion_data: Map,
    /// An external pillar that the minion asks for (`pillar.ext`).
    pub ext: Option<Value>,
    /// The pillar that the files see while they are rendered: what the minion
    /// holds, if it compiles its own.
    pub held: Arc<Map>,
    /// What stands in place of `pillar_roots`; then there are no external
    /// pillars.
    pub roots: Option<Arc<GivenRoots>>,
}
