//! The fleet as this master knows it: which minions are accepted and connected,
//! what is cached of each, and which minions a target matches.

pub(crate) mod attendance;
pub(crate) mod clones;
pub(crate) mod connected;
mod connection;
pub(crate) mod highstates;
pub(crate) mod history;
pub(crate) mod known_data;
pub(crate) mod presence_events;
pub(crate) mod resources;
pub(crate) mod settings;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::clear::PublishRequest;
use halite_proto::{Map, MinionId, Value};
use halite_range::RangeServer;
use halite_store::{Bank, Banks, MinionData, Parts};
use halite_transport::fleet::Origin;

use self::attendance::Attendance;
use self::connected::connected_ids;
use self::highstates::Highstates;
use self::known_data::KnownData;
use self::resources::Resources;
use self::settings::FleetSettings;
use crate::clock::{now_micros, now_s, thread_time};
use crate::core::auth::Room;
use crate::core::budget::Budget;
use crate::core::cached_ids::CachedIds;
use crate::core::clones::Clones;
use crate::core::jobs::{self, DELIMITER_DEFAULT};
use crate::core::roster::{Presence, is_gone};
use crate::core::targets::{Asked, Minions, Resolved, resolve};
use crate::error::chain;
use crate::keys::Keys;
use crate::limits::{CLONES_MAX, MINE_PILLAR_PARTS_INTERVAL_S, MINE_PILLAR_PARTS_MAX};
use crate::pillar_cache::PillarCache;
use crate::settings::General;

/// The minions of this master.
pub(crate) struct Fleet {
    pub(crate) settings: FleetSettings,
    /// Grains, pillar and mine of minions.
    pub(crate) data: KnownData,
    /// Which resources are whose.
    pub(crate) resources: Resources,
    /// The connected minions.
    pub(crate) attendance: Arc<Attendance>,
    /// `range_server`.
    pub(crate) range_server: RangeServer,
    /// The minions' last highstates.
    pub(crate) highstates: Highstates,
    clones: Mutex<Clones<Origin>>,
    /// What minions ask about the pillars of others, by the mine.
    pillar_questions: Mutex<Budget<MinionId>>,
    /// The minions with cached grains.
    with_grains: Mutex<CachedIds>,
    general: Arc<General>,
    keys: Arc<Keys>,
    pillar_cache: Option<Arc<PillarCache>>,
}

impl Fleet {
    /// The fleet of the minions that `keys` accepts.
    pub(crate) fn new(
        general: Arc<General>,
        settings: FleetSettings,
        (data, banks): (MinionData, Banks),
        keys: Arc<Keys>,
        attendance: Arc<Attendance>,
        pillar_cache: Option<Arc<PillarCache>>,
    ) -> Self {
        attendance.believe(Arc::clone(&keys));
        Self {
            settings,
            data: KnownData::new(data),
            resources: Resources::new(banks, Arc::clone(&keys)),
            attendance,
            clones: Mutex::new(Clones::new(CLONES_MAX)),
            pillar_questions: Mutex::new(Budget::new(
                MINE_PILLAR_PARTS_MAX,
                usize::MAX,
                MINE_PILLAR_PARTS_INTERVAL_S,
            )),
            with_grains: Mutex::default(),
            range_server: RangeServer::from_opts(&general.opts),
            highstates: Highstates::new(),
            general,
            keys,
            pillar_cache,
        }
    }

    /// Stores what the store did not take of minions' data, as far as it does now.
    pub(crate) fn store_unkept(&self) {
        self.data
            .store_unkept(|id| self.keys.accepted.get(id).is_some());
    }

    /// Whether a minion may ask so much more about the pillars of others.
    pub(crate) fn may_ask_about_pillar(&self, id: &MinionId, parts: usize) -> bool {
        let asked = self.pillar_questions.lock();
        let mut asked = asked.unwrap_or_else(PoisonError::into_inner);
        parts == 0 || asked.take_some(id.clone(), parts, now_s())
    }

    /// The accepted minions that are connected, in order.
    pub(crate) fn connected(&self) -> BTreeSet<MinionId> {
        let estimated = connected_ids(self.data.store(), self.settings.publish_port);
        let are_all_known = self.attendance.all_known_for().is_some();
        let accepted = self.keys.accepted.list().into_iter();
        accepted
            .filter(|id| match self.attendance.presence(id) {
                Some(Presence::Here(_)) => true,
                Some(Presence::Away(_)) => false,
                None => !are_all_known && estimated.contains(id),
            })
            .collect()
    }

    /// For at least how long a minion that has never shown itself was in no
    /// connection; `None` where that is not known, and of one that was never
    /// here.
    pub(crate) fn absent_for(&self, id: &MinionId) -> Option<Duration> {
        let all_known_for = self.attendance.all_known_for()?;
        let has_shown = self.attendance.presence(id).is_some();
        (!has_shown && self.was_here(id)).then_some(all_known_for)
    }

    /// The minions among `ids` that nobody needs to wait for: those that have
    /// shown themselves are away for so long, others longer than any minion
    /// takes to connect again.
    pub(crate) fn gone<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        for_micros: u64,
    ) -> Vec<String> {
        let before = now_micros().saturating_sub(for_micros);
        let is_gone = |id: &MinionId| {
            let presence = self.attendance.presence(id);
            is_gone(presence, self.absent_for(id), before)
        };
        ids.into_iter()
            .filter(|id| MinionId::parse(*id).is_ok_and(|id| is_gone(&id)))
            .map(str::to_owned)
            .collect()
    }

    /// Whether a minion is known to be in no connection at this moment.
    pub(crate) fn is_away(&self, id: &MinionId) -> bool {
        match self.attendance.presence(id) {
            Some(presence) => matches!(presence, Presence::Away(_)),
            None => self.absent_for(id).is_some(),
        }
    }

    /// Whether a minion has signed in, or was known to an earlier run.
    fn was_here(&self, id: &MinionId) -> bool {
        let read = || {
            self.data.ids(Bank::Grains).unwrap_or_else(|error| {
                tracing::warn!(
                    "could not list the minions with cached data: {}",
                    chain(&error)
                );
                Vec::new()
            })
        };
        let with_grains = || {
            let mut known = self
                .with_grains
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            known.contains(id, Instant::now(), read)
        };
        self.keys.sessions.last(id).is_some() || with_grains()
    }

    /// The room for one more minion.
    pub(crate) fn room_for(&self, id: &MinionId) -> Room {
        let minions_max = self.settings.max_minions;
        if minions_max == 0 {
            return Room::UNLIMITED;
        }
        let connected = self.connected();
        Room {
            minions_max,
            connected: connected.len(),
            is_connected: connected.contains(id),
        }
    }

    /// Drops grains and pillar of a minion, its last highstate, and what was heard of its
    /// machines.
    pub(crate) fn forget_minion_data(&self, id: &MinionId) {
        self.forget_clones(id);
        self.highstates.lock().forget(id);
        self.forget_pillars(id);
        if let Err(error) = self.data.store().retain(|known| known != id) {
            tracing::error!(
                minion = %id,
                "could not remove the minion's cached data: {}",
                chain(&error)
            );
        }
    }

    /// Drops the pillars of a minion from `pillar_cache`: its key is no longer valid, and
    /// they contain secrets.
    pub(crate) fn forget_pillars(&self, id: &MinionId) {
        if let Some(cache) = &self.pillar_cache {
            cache.forget(id.as_str());
        }
    }

    /// Drops pillars from `pillar_cache` that are too old, and pillars and last highstates
    /// of minions whose key is no longer valid, with whatever tool that was done.
    pub(crate) fn sweep(&self) {
        let accepted = self.keys.accepted.list();
        let is_accepted = |id: &MinionId| accepted.binary_search(id).is_ok();
        self.highstates.lock().retain(is_accepted);
        if let Some(cache) = &self.pillar_cache {
            cache.sweep(&accepted);
        }
    }

    /// The minions that a command is for; none if its target cannot be read.
    pub(crate) fn targets_of(&self, request: &PublishRequest) -> Resolved {
        self.resolve_or_nobody(Asked {
            with_unknown: self.settings.targets_uncached,
            ranges: Some(&self.range_server),
            ..jobs::asked(request)
        })
    }

    /// The minions of a target; none if it cannot be read.
    pub(crate) fn resolve_or_nobody(&self, asked: Asked<'_>) -> Resolved {
        resolve(asked, self).unwrap_or_else(|error| {
            tracing::warn!("the target is invalid: {error}");
            Resolved::default()
        })
    }

    /// Whether all `minions` match a compound target. An empty list matches
    /// none, unless the job goes on to masters below that know other minions.
    pub(crate) fn are_within(&self, minions: &[MinionId], compound: &str) -> bool {
        let tgt = Value::from(compound);
        let asked = Asked {
            tgt: &tgt,
            tgt_type: "compound",
            delimiter: DELIMITER_DEFAULT,
            with_unknown: false,
            ranges: Some(&self.range_server),
        };
        match resolve(asked, self) {
            Ok(_) if minions.is_empty() => !self.settings.order_masters,
            // Without data no minion is known to match, and this grants a right.
            Ok(allowed) if allowed.by_data && !self.settings.keeps_data => false,
            Ok(allowed) => minions.iter().all(|id| allowed.minions.contains(id)),
            Err(error) => {
                tracing::warn!("a target in an access list is invalid: {error}");
                false
            }
        }
    }

    fn parts(&self, bank: Bank, ids: &[MinionId], names: &BTreeSet<String>) -> Option<Parts> {
        self.data.parts(bank, ids, names).unwrap_or_else(|error| {
            tracing::warn!(
                "could not read the cached data of minions: {}",
                chain(&error)
            );
            None
        })
    }

    fn cached(&self, bank: Bank, id: &MinionId) -> Option<Map> {
        self.data.get(bank, id).unwrap_or_else(|error| {
            tracing::warn!(
                minion = %id,
                "could not read the minion's cached data: {}",
                chain(&error)
            );
            None
        })
    }
}

impl Minions for Fleet {
    fn accepted(&self) -> Vec<MinionId> {
        self.keys.accepted.list()
    }

    fn grains_of(&self, ids: &[MinionId], names: &BTreeSet<String>) -> Option<Parts> {
        self.parts(Bank::Grains, ids, names)
    }

    fn pillars_of(&self, ids: &[MinionId], names: &BTreeSet<String>) -> Option<Parts> {
        self.parts(Bank::Pillar, ids, names)
    }

    fn grains(&self, id: &MinionId) -> Option<Map> {
        self.cached(Bank::Grains, id)
    }

    fn pillar(&self, id: &MinionId) -> Option<Map> {
        self.cached(Bank::Pillar, id)
    }

    fn keeps_data(&self) -> bool {
        self.settings.keeps_data
    }

    fn nodegroups(&self) -> Option<&Map> {
        self.general.opts.get("nodegroups").and_then(Value::as_map)
    }

    fn processor_time(&self) -> Duration {
        thread_time()
    }
}
