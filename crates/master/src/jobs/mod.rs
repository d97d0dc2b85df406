//! Jobs: their ids and their records.

mod ext_jobs;
pub(crate) mod foreign;
pub(crate) mod job_mirror;
mod meant;
pub(crate) mod missed;
pub(crate) mod publishers;
pub(crate) mod runner_returns;
pub(crate) mod settings;
pub(crate) mod stop;
mod unkept_returns;
mod untrimmed;

use std::sync::{Arc, Mutex, PoisonError};

use halite_crypto::random_bytes;
use halite_proto::time::{self, JidClock};
use halite_proto::{Jid, MinionId, PublisherId};
use halite_store::{Places, StoreError};

pub(crate) use self::untrimmed::untrimmed;

use self::job_mirror::JobMirror;
use self::missed::MissedJobs;
use self::settings::JobSettings;
use crate::clock::{now_micros, now_s};
use crate::cluster::Cluster;
use crate::core::held_by_others::HeldByOthers;
use crate::core::meant::Meant;
use crate::core::own_jobs::{self, OwnJobs};
use crate::core::owner::{ProvenBy, is_of};
use crate::core::unfinished_returns::{Limits, UnfinishedReturns};
use crate::core::unkept_returns::UnkeptReturns;
use crate::core::unstored::UnstoredReturns;
use crate::error::{StartError, chain};
use crate::limits::MEANT_IDS_MAX;
use crate::settings::General;
use crate::store_health::{ExtJobs, StoreHealth};
use crate::telemetry::Telemetry;

/// The jobs of this master.
pub(crate) struct Jobs {
    pub(crate) settings: JobSettings,
    pub(crate) general: Arc<General>,
    /// The job cache.
    pub(crate) cache: halite_store::Jobs,
    /// Where loads and returns go, if `ext_job_cache` is a place that this program knows.
    /// Minions bring their returns there by themselves, but try it once.
    ext: Option<ExtJobs>,
    /// Whether the places where things are kept are there.
    pub(crate) health: StoreHealth,
    /// Where jobs go beside the cache.
    pub(crate) mirror: JobMirror,
    /// The jobs that minions can ask for after a reconnect.
    pub(crate) missed: MissedJobs,
    telemetry: Arc<Telemetry>,
    /// The identity of this master until it ends, which differs between masters that
    /// share keys, names or a store.
    pub(crate) publisher: PublisherId,
    /// The masters that hear of what runners return.
    cluster: Option<Arc<Cluster>>,
    /// Allocates job ids.
    ids: Mutex<JidClock>,
    /// Results of this master's jobs that other masters have.
    held_by_others: Mutex<HeldByOthers>,
    /// Results that were announced although they could not be stored.
    unstored: Mutex<UnstoredReturns>,
    /// Returns that could not be stored, of minions that do not send them again.
    unkept_returns: Mutex<UnkeptReturns>,
    /// Large returns that come piece by piece.
    pub(crate) unfinished: Arc<Mutex<UnfinishedReturns>>,
    /// Size of the jobs that this master has not started.
    own: Mutex<OwnJobs>,
    /// The minions of the jobs that this master has started.
    meant: Mutex<Meant>,
}

impl Jobs {
    /// The jobs of a job cache.
    ///
    /// # Errors
    /// When the jobs for replay cannot be read.
    pub(crate) fn open(
        general: Arc<General>,
        settings: JobSettings,
        (places, cache): (&Places, halite_store::Jobs),
        ext: Option<ExtJobs>,
        telemetry: Arc<Telemetry>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Self, StartError> {
        let replay_dir = general.own_cachedir.join("replay");
        let missed = MissedJobs::open(&replay_dir, settings.replay_window_s, &cache)
            .map_err(StartError::Replay)?;
        let random = || PublisherId::new(u64::from_le_bytes(random_bytes()));
        let publisher = cluster.as_deref().map_or_else(random, Cluster::publisher);
        Ok(Self {
            general,
            health: StoreHealth::new(places, cache.clone(), ext.as_ref()),
            ext,
            cache,
            mirror: JobMirror::default(),
            missed,
            telemetry,
            ids: Mutex::new(JidClock::of(publisher)),
            publisher,
            held_by_others: Mutex::default(),
            unstored: Mutex::default(),
            unkept_returns: unkept_returns::unkept_returns(),
            unfinished: Arc::new(Mutex::new(UnfinishedReturns::new(Limits::OF_A_MASTER))),
            own: Mutex::new(OwnJobs::new(settings.own_jobs_bytes_max, settings.keep)),
            meant: Mutex::new(Meant::new(MEANT_IDS_MAX)),
            cluster,
            settings,
        })
    }

    /// A job id that nobody has. While the job cache cannot be written it is the next one
    /// of this process: what has to be done about that is done with jobs, too.
    pub(crate) fn allocate(&self, nocache: bool) -> Jid {
        let allocated = self.cache.allocate(nocache, || self.next_id());
        allocated.unwrap_or_else(|error| {
            let jid = self.next_id();
            tracing::error!(%jid, "the job cache does not know of the job: {}", chain(&error));
            jid
        })
    }

    /// The same for the job of a return that its minion brings again if this fails.
    ///
    /// # Errors
    /// When the job cache cannot be used.
    pub(crate) fn allocate_now(&self) -> Result<Jid, StoreError> {
        self.cache.allocate_now(false, || self.next_id())
    }

    /// The next job id of this process; nothing is stored for it.
    pub(crate) fn next_id(&self) -> Jid {
        let mut clock = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let jid = clock.next(now_micros());
        match self.settings.unique_jid {
            true => Jid::parse(format!("{jid}_{}", std::process::id())).unwrap_or(jid),
            false => jid,
        }
    }

    /// Whether a user may begin a job under an id that was chosen: a new one, or
    /// that of a job of the same user, which is added to. What cannot be looked
    /// up may be somebody's.
    pub(crate) fn may_begin(&self, jid: &Jid, user: Option<&str>, by: Option<&ProvenBy>) -> bool {
        let is_own = || {
            let load = self.cache.load(jid).ok().flatten();
            load.is_some_and(|load| is_of(&load, user, by))
        };
        !self.cache.knows(jid).unwrap_or(true) || is_own()
    }

    /// Now, as the job cache records the end of a job.
    pub(crate) fn endtime(&self) -> String {
        let now = time::jid_from_micros(now_micros());
        time::jid_to_text(&now)
    }

    /// Releases the room of a job that is not stored after all, or was stored before.
    pub(crate) fn release_room(&self, id: &MinionId, bytes: usize) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.give_back(id, u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Whether a job of `bytes` that this master has not begun may be kept: each
    /// minion has a quota for them.
    pub(crate) fn reserve_room(&self, id: &MinionId, bytes: usize) -> bool {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        match own.take(id, bytes, now_s()) {
            own_jobs::Room::Enough => true,
            own_jobs::Room::UsedUp => false,
            own_jobs::Room::TooLarge => {
                if self.telemetry.may_log(id.as_str(), "own jobs") {
                    tracing::error!(
                        minion = %id,
                        "did not store a job that this master did not start: its {bytes} bytes \
                         exceed what is left of own_jobs_max_size"
                    );
                }
                false
            }
            own_jobs::Room::JustUsedUp => {
                tracing::error!(
                    minion = %id,
                    "the minion has used up own_jobs_max_size ({} MiB while jobs are kept) with \
                     jobs that this master did not start: further ones are not stored",
                    own.bytes_max() / 1024 / 1024
                );
                false
            }
        }
    }

    /// Forgets the pieces of returns of which nothing more has come for long.
    pub(crate) fn expire_unfinished(&self) {
        let unfinished = self.unfinished.lock();
        unfinished
            .unwrap_or_else(PoisonError::into_inner)
            .expire(now_s());
    }

    /// Whether a result that could not be stored is seen for the first time.
    pub(crate) fn first_seen_unstored(&self, jid: &Jid, id: &MinionId) -> bool {
        let mut unstored = self.unstored.lock().unwrap_or_else(PoisonError::into_inner);
        unstored.first_seen(jid, id)
    }

    /// Whether a result that is stored now was not seen before, unstored.
    pub(crate) fn first_seen_stored(&self, jid: &Jid, id: &MinionId) -> bool {
        let mut unstored = self.unstored.lock().unwrap_or_else(PoisonError::into_inner);
        unstored.stored(jid, id)
    }

    /// Records that another master has a minion's result of a job.
    pub(crate) fn record_held_by_other(&self, jid: Jid, id: MinionId, master: &str) {
        let held = &self.held_by_others;
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.record(jid, id, master);
    }

    /// The other master that has a minion's result of a job.
    pub(crate) fn holder(&self, jid: &Jid, id: &MinionId) -> Option<String> {
        let held = &self.held_by_others;
        let held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.holder(jid, id).map(str::to_owned)
    }
}
