//! Pillar, options, tops, resources, and signing out.

use crate::fields::{Fields, MessageError, Put};
use crate::{Map, MinionId, Value};

/// Grains up, pillar down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PillarRequest {
    /// The minion's grains.
    pub grains: Map,
    /// The environment of its states.
    pub saltenv: Option<String>,
    /// The environment of its pillar.
    pub pillarenv: Option<String>,
    /// Pillar that the caller gives.
    pub pillar_override: Map,
    /// What external pillars may want to know.
    pub extra_minion_data: Map,
    /// The version of the reply: `2` is the private one.
    pub ver: Option<String>,
    /// Whether the pillar cache is to be dropped.
    pub clean_cache: Option<bool>,
    /// The external pillars to use, and no others.
    pub ext: Option<Value>,
}

/// The options that a minion takes from its master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MasterOpts {
    /// Only those about environments.
    pub env_only: bool,
}

/// What the master's tops assign to the minion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MasterTops {
    /// All options of the minion, with grains and pillar.
    pub opts: Map,
}

/// The resources of a minion (3008).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegisterResources {
    /// The resources by type.
    pub resources: Map,
    /// Their grains.
    pub resource_grains: Map,
}

/// The minion's key is to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RevokeAuth {
    /// Whether its cached data stays.
    pub preserve_minion_cache: bool,
}

impl PillarRequest {
    /// A request for the private reply.
    pub fn new(grains: Map) -> Self {
        Self {
            grains,
            saltenv: None,
            pillarenv: None,
            pillar_override: Map::new(),
            extra_minion_data: Map::new(),
            ver: Some(PRIVATE_REPLY.to_owned()),
            clean_cache: None,
            ext: None,
        }
    }

    /// Whether the reply is to be a private one.
    pub fn wants_private_reply(&self) -> bool {
        self.ver.as_deref() == Some(PRIVATE_REPLY)
    }

    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            grains: fields.need("grains", Fields::map)?,
            saltenv: fields.text("saltenv")?,
            pillarenv: fields.text("pillarenv")?,
            pillar_override: take_map(fields, "pillar_override"),
            extra_minion_data: take_map(fields, "extra_minion_data"),
            ver: fields.text("ver")?,
            clean_cache: fields.flag("clean_cache"),
            ext: fields.value("ext"),
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("id", id);
        map.put("grains", self.grains.clone());
        map.put("saltenv", self.saltenv.as_deref());
        map.put("pillarenv", self.pillarenv.as_deref());
        map.put("pillar_override", self.pillar_override.clone());
        map.put("extra_minion_data", self.extra_minion_data.clone());
        map.put_some("ver", self.ver.as_deref());
        map.put("cmd", "_pillar");
        map.put_some("clean_cache", self.clean_cache);
        map.put_some("ext", self.ext.clone());
    }
}

/// The version of the pillar reply that is private; text, not a number.
const PRIVATE_REPLY: &str = "2";

impl MasterOpts {
    pub(super) fn take(fields: &mut Fields) -> Self {
        Self {
            env_only: fields.flag("env_only").unwrap_or(false),
        }
    }

    pub(super) fn put(self, map: &mut Map) {
        map.put("cmd", "_master_opts");
        if self.env_only {
            map.put("env_only", true);
        }
    }
}

impl MasterTops {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            opts: fields.need("opts", Fields::map)?,
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "_master_tops");
        map.put("id", id);
        map.put("opts", self.opts.clone());
    }
}

impl RegisterResources {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            resources: fields.map("resources")?.unwrap_or_default(),
            resource_grains: fields.map("resource_grains")?.unwrap_or_default(),
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "_register_resources");
        map.put("id", id);
        map.put("resources", self.resources.clone());
        map.put("resource_grains", self.resource_grains.clone());
    }
}

impl RevokeAuth {
    pub(super) fn take(fields: &mut Fields) -> Self {
        Self {
            preserve_minion_cache: fields.flag("preserve_minion_cache").unwrap_or(false),
        }
    }

    pub(super) fn put(self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "revoke_auth");
        map.put("id", id);
        map.put("preserve_minion_cache", self.preserve_minion_cache);
    }
}

/// A map that only decorates: a value of another type counts as an empty one.
fn take_map(fields: &mut Fields, field: &'static str) -> Map {
    fields.map(field).unwrap_or_default().unwrap_or_default()
}
