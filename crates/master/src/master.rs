//! Everything the master is made of, for the threads that handle requests.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::{EncAlgo, SigAlgo, UnknownAlgorithm};
use halite_fileserver::{FileServer, Inbox};
use halite_key::{Autosign, KeyState, KeyStore, MasterKeys};
use halite_proto::time::{self, JidClock};
use halite_proto::{Jid, Map, MinionId, Value};
use halite_range::RangeServer;
use halite_store::{Bank, Banks, Jobs, MinionData, Parts, StoreError};

use crate::batches::Batches;
use crate::clock::{now_micros, now_s};
use crate::core::acl::Users;
use crate::core::auth::Room;
use crate::core::complaints::{Complaints, Telling};
use crate::core::counters::Counters;
use crate::core::elsewhere::Elsewhere;
use crate::core::heard::Heard;
use crate::core::jobs::DELIMITER_DEFAULT;
use crate::core::own_jobs::{self, OwnJobs};
use crate::core::targets::{Asked, Minions, resolve};
use crate::core::told::Told;
use crate::core::turns::Turns;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::fleet::attendance::Attendance;
use crate::handlers::publish;
use crate::jobs::job_mirror::JobMirror;
use crate::jobs::missed::MissedJobs;
use crate::keys::accepted::AcceptedKeys;
use crate::keys::local_keys::LocalKeys;
use crate::keys::sessions::Sessions;
use crate::limits::{
    PEER_RUNNERS_MAX, PEER_RUNNERS_PER_MINION_MAX, PEER_WAITING_PER_MINION_MAX,
    PILLARS_WAITING_PER_MINION_MAX, UNDECIDED_KEYS_MAX,
};
use crate::pillar::pillars::Pillars;
use crate::publishing::publisher::Publisher;
use crate::reactor::Reactor;
use crate::runner::Runners;
use crate::serving::stats::Stats;
use crate::settings::Settings;
use crate::tokens::Tokens;

/// The state behind the ports. Every part guards itself.
pub(crate) struct Master {
    /// The options that this daemon reads.
    pub(crate) settings: Settings,
    /// All options, for those that are passed on.
    pub(crate) opts: Map,
    /// `range_server`.
    pub(crate) range_server: RangeServer,
    /// The keys of minions.
    pub(crate) keys: KeyStore,
    /// The accepted ones among them.
    pub(crate) accepted: AcceptedKeys,
    /// Who is accepted or rejected without asking.
    pub(crate) autosign: Autosign,
    /// The master's own keys.
    pub(crate) identity: MasterKeys,
    /// The keys shared with single minions.
    pub(crate) sessions: Sessions,
    /// The publish port.
    pub(crate) publisher: Publisher,
    /// The event bus.
    pub(crate) bus: Bus,
    /// The job cache.
    pub(crate) jobs: Jobs,
    /// Where jobs go beside that.
    pub(crate) job_mirror: JobMirror,
    /// The jobs that minions can ask for after a reconnect.
    pub(crate) missed: MissedJobs,
    /// Who is connected.
    pub(crate) attendance: Arc<Attendance>,
    /// Jobs in batches that nobody waits for.
    pub(crate) batches: Batches,
    /// What events call for.
    pub(crate) reactor: Reactor,
    /// The runners that run.
    pub(crate) runners: Runners,
    /// Grains, pillar and mine of minions.
    pub(crate) data: MinionData,
    /// What runners and templates keep.
    pub(crate) banks: Banks,
    /// The files for minions.
    pub(crate) files: Arc<FileServer>,
    /// The pillars for minions.
    pub(crate) pillars: Pillars,
    /// The files from minions.
    pub(crate) inbox: Inbox,
    /// The tokens of users who have logged in.
    pub(crate) tokens: Tokens,
    /// The keys of local users.
    pub(crate) local_keys: LocalKeys,
    /// What was served and refused.
    pub(crate) counters: Counters,
    /// What requests take (`master_stats`).
    pub(crate) stats: Stats,
    /// Gives job ids.
    pub(crate) jids: Mutex<JidClock>,
    /// Held while a sign-in looks at keys and files one.
    pub(crate) filing: Mutex<()>,
    /// Keys that nobody has decided about, as of the last housekeeping.
    pub(crate) undecided: AtomicUsize,
    /// What was remarked about single peers.
    pub(crate) complaints: Mutex<Complaints>,
    /// Results of this master's jobs that others have.
    pub(crate) elsewhere: Mutex<Elsewhere>,
    /// Results that could not be stored, and were told of all the same.
    pub(crate) told: Mutex<Told>,
    /// The batches of events that minions have sent.
    pub(crate) heard: Mutex<Heard>,
    /// What is kept of jobs that this master has not begun.
    pub(crate) own_jobs: Mutex<OwnJobs>,
    /// What is being done for single minions.
    pub(crate) turns: TurnsOfMinions,
}

/// What takes a while, with the places that one minion may take.
pub(crate) struct TurnsOfMinions {
    /// `minion_publish`.
    pub(crate) publishing: Turns,
    /// `peer_run`.
    pub(crate) running: Turns,
    /// Pillars that wait.
    pub(crate) pillars: Turns,
}

impl Default for TurnsOfMinions {
    fn default() -> Self {
        Self {
            publishing: Turns::new(PEER_WAITING_PER_MINION_MAX, usize::MAX),
            running: Turns::new(PEER_RUNNERS_PER_MINION_MAX, PEER_RUNNERS_MAX),
            pillars: Turns::new(PILLARS_WAITING_PER_MINION_MAX, usize::MAX),
        }
    }
}

impl Master {
    /// Keeps other sign-ins from filing keys.
    pub(crate) fn lock_filing(&self) -> MutexGuard<'_, ()> {
        self.filing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job id that nobody has.
    ///
    /// # Errors
    /// When the job cache cannot be written.
    pub(crate) fn allocate_jid(&self, nocache: bool) -> Result<Jid, StoreError> {
        self.jobs.allocate(nocache, || self.next_jid())
    }

    /// The next job id of this process, of which nothing is kept.
    pub(crate) fn next_jid(&self) -> Jid {
        let mut clock = self.jids.lock().unwrap_or_else(PoisonError::into_inner);
        let jid = clock.next(now_micros());
        self.settings.mark_jid(jid)
    }

    /// Such a job is not stored after all, or was before: it takes no room.
    pub(crate) fn give_back_room_of(&self, id: &MinionId, bytes: usize) {
        let mut own_jobs = self.own_jobs.lock().unwrap_or_else(PoisonError::into_inner);
        own_jobs.give_back(id, u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Whether a job that this master has not begun may be kept: each minion
    /// has so much room for them. `bytes` is what is in it.
    pub(crate) fn has_room_for_job_of(&self, id: &MinionId, bytes: usize) -> bool {
        let mut own_jobs = self.own_jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        match own_jobs.take(id, bytes, now_s()) {
            own_jobs::Room::Enough => true,
            own_jobs::Room::UsedUp => false,
            own_jobs::Room::TooLarge => {
                if self.may_remark(id.as_str(), "own jobs") {
                    tracing::error!(
                        minion = %id,
                        "a job that this master did not begin is not stored: its {bytes} bytes \
                         are more than is left of own_jobs_max_size"
                    );
                }
                false
            }
            own_jobs::Room::JustUsedUp => {
                tracing::error!(
                    minion = %id,
                    "it has returned so many jobs that this master did not begin that no more of \
                     them are stored (own_jobs_max_size, {} MiB while jobs are kept)",
                    own_jobs.bytes_max() / 1024 / 1024
                );
                false
            }
        }
    }

    /// Now, as the job cache notes the end of a job.
    pub(crate) fn endtime(&self) -> String {
        let now = time::jid_from_micros(now_micros());
        time::jid_to_text(&now)
    }

    /// The encryption of an answer whose request names `name`.
    ///
    /// # Errors
    /// When there is no such algorithm.
    pub(crate) fn encryption_algorithm(
        &self,
        name: Option<&str>,
    ) -> Result<EncAlgo, UnknownAlgorithm> {
        name.map_or_else(|| Ok(EncAlgo::default()), EncAlgo::parse)
    }

    /// The signature of an answer whose request names `name`.
    ///
    /// # Errors
    /// When there is no such algorithm.
    pub(crate) fn signing_algorithm(
        &self,
        name: Option<&str>,
    ) -> Result<SigAlgo, UnknownAlgorithm> {
        name.map_or_else(|| Ok(SigAlgo::default()), SigAlgo::parse)
    }

    /// What the keys of local users are worth.
    pub(crate) fn users(&self) -> Users<'_> {
        Users {
            configured: &self.settings.user,
            running: &self.settings.running_user,
            sudo_acl: self.settings.sudo_acl,
            publisher_acl: &self.settings.publisher_acl,
        }
    }

    /// Whether all `minions` match a compound target. Nobody is within any
    /// target, unless the job goes on to masters below that know others.
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
            // Nobody is known to be meant, and it is a right.
            Ok(allowed) if allowed.by_data && !self.settings.keeps_data => false,
            Ok(allowed) => minions.iter().all(|id| allowed.minions.contains(id)),
            Err(error) => {
                tracing::warn!("a target in an access list is not understood: {error}");
                false
            }
        }
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

    /// Tells of a change of a minion's key.
    pub(crate) fn fire_key_event(&self, act: &str, id: &MinionId, pem: &str) {
        let mut data = Map::from([
            ("result", Value::from(true)),
            ("act", Value::from(act)),
            ("id", Value::from(id)),
        ]);
        if !pem.is_empty() {
            data.insert("pub", pem);
        }
        self.bus.fire_under("key", [], data);
    }

    /// Ends what was granted to minions that are not accepted any more: their
    /// sessions are dropped and, unless `rotate_aes_key` is off, nobody without
    /// a new sign-in reads the next publication.
    pub(crate) fn cut_access(&self) {
        self.end_sessions();
        if self.settings.rotate_aes_key {
            self.rotate();
        }
    }

    /// Ends the sessions of minions that are not accepted any more.
    pub(crate) fn end_sessions(&self) {
        self.accepted.prune();
        for id in self.sessions.ids() {
            if self.accepted.get(&id).is_none() {
                tracing::info!(minion = %id, "its session ends, it is not accepted any more");
                self.sessions.drop_session(&id);
            }
        }
    }

    /// Makes a new key for publications.
    pub(crate) fn rotate(&self) {
        match self.publisher.rotate() {
            Ok(()) => {
                tracing::info!("made a new publish key");
                self.bus.fire("key", Map::from([("rotate_aes_key", true)]));
                if self.settings.ping_on_rotate {
                    publish::ping_everybody(self);
                }
            }
            Err(error) => tracing::error!("could not make a new publish key: {}", chain(&error)),
        }
    }

    /// Drops grains and pillar of a minion.
    pub(crate) fn forget_minion_data(&self, id: &MinionId) {
        if let Err(error) = self.data.retain(|known| known != id) {
            tracing::error!(minion = %id, "could not drop its cached data: {}", chain(&error));
        }
    }

    /// Whether a remark about a peer is to be logged. Everything that anybody
    /// can cause goes through here or `complain`.
    pub(crate) fn may_remark(&self, peer: &str, what: &'static str) -> bool {
        let mut complaints = self
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match complaints.remark(peer, what, now_s()) {
            Telling::NotNow => false,
            Telling::Now { suppressed } => {
                if suppressed > 0 {
                    tracing::warn!("{suppressed} remarks about peers were left out");
                }
                true
            }
        }
    }

    /// Counts the keys that nobody has decided about.
    pub(crate) fn count_undecided(&self) {
        let count = [KeyState::Pending, KeyState::Rejected]
            .into_iter()
            .map(|state| self.keys.list(state).map_or(0, |ids| ids.len()))
            .sum();
        self.undecided.store(count, Ordering::Relaxed);
    }

    /// Whether one more key may be filed without anybody's decision.
    pub(crate) fn has_room_to_file(&self) -> bool {
        self.undecided.fetch_add(1, Ordering::Relaxed) < UNDECIDED_KEYS_MAX
    }

    /// Counts a refused request and logs it, but not every one of a flood.
    pub(crate) fn complain(&self, cause: crate::core::gate::Cause, minion: Option<&MinionId>) {
        let Some(count) = self.counters.refuse(cause, now_s()) else {
            return;
        };
        let minion = minion.map(MinionId::as_str);
        let why = cause.as_str();
        if cause.is_ordinary() {
            tracing::info!(minion, count, "refused a request: {why}");
        } else {
            tracing::warn!(minion, count, "refused a request: {why}");
        }
    }
}

impl Minions for Master {
    fn accepted(&self) -> Vec<MinionId> {
        self.accepted.list()
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
        self.opts.get("nodegroups").and_then(Value::as_map)
    }
}

impl Master {
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
            tracing::warn!(minion = %id, "could not read its cached data: {}", chain(&error));
            None
        })
    }
}
