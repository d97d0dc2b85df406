//! Which minions are connected now, as Halite minions prove.
//!
//! Invariant: a claim about a minion counts only if it is proven with a session key
//! of that minion.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use halite_mesh::PeerId;
use halite_proto::{MinionId, SignAnswer, SignOfLife};
use halite_transport::fleet::{PresenceEvent, PresenceWatch, SignInterval, Unproven};
use tokio::sync::Notify;

use super::history::Histories;
use crate::clock::now_micros;
use crate::core::elsewhere::OtherConnections;
use crate::core::history::{Change, Entry};
use crate::core::roster::{Presence, Roster};
use crate::keys::Keys;
use crate::keys::sessions::Session;
use crate::limits::ROSTER_SEATS_MAX;

/// Called with a minion that connects or disconnects.
pub(crate) type OnChange = Box<dyn Fn(&MinionId, bool) + Send + Sync>;

/// Whether a minion is to ask for jobs that it may have missed; `None` if that cannot be
/// said without waiting.
pub(crate) type HasToAsk = Box<dyn Fn(&MinionId) -> Option<bool> + Send + Sync>;

/// The roster, and word of its changes.
pub(crate) struct Attendance {
    roster: Mutex<Roster>,
    /// The session by which each minion gave its last sign of life. The minion may not
    /// know of a later one yet, because anybody can ask for one in its name.
    shown_by: Mutex<HashMap<MinionId, Arc<Session>>>,
    keys: OnceLock<Arc<Keys>>,
    unproven: OnceLock<Arc<Unproven>>,
    interval: OnceLock<SignInterval>,
    /// The ids for which somebody has signed in who knows the key of another master, and
    /// when. Anybody can, so it holds until the minion itself gives a sign of life.
    distrusts: Mutex<HashMap<MinionId, u64>>,
    changed: Notify,
    /// Other masters have connections of minions, too.
    is_clustered: bool,
    /// The minions connected to each of the other masters.
    elsewhere: Mutex<OtherConnections>,
    /// Sends changes here to the other masters.
    on_change: OnceLock<OnChange>,
    has_to_ask: OnceLock<HasToAsk>,
    /// The history of their connections.
    pub(crate) histories: Histories,
    /// When this master began to listen.
    pub(crate) started_micros: u64,
}

impl Attendance {
    /// No minion has given a sign of life yet.
    pub(crate) fn begin(is_clustered: bool) -> Arc<Self> {
        Arc::new(Self {
            roster: Mutex::new(Roster::new(ROSTER_SEATS_MAX)),
            shown_by: Mutex::default(),
            keys: OnceLock::new(),
            unproven: OnceLock::new(),
            interval: OnceLock::new(),
            distrusts: Mutex::default(),
            changed: Notify::new(),
            is_clustered,
            elsewhere: Mutex::new(OtherConnections::new(ROSTER_SEATS_MAX)),
            on_change: OnceLock::new(),
            has_to_ask: OnceLock::new(),
            histories: Histories::default(),
            started_micros: now_micros(),
        })
    }

    /// Believes minions by the sessions of these keys from now on; before that
    /// nobody has one.
    pub(super) fn believe(&self, keys: Arc<Keys>) {
        let _ = self.keys.set(keys);
    }

    /// Whether other masters have connections of minions, too.
    pub(crate) fn is_clustered(&self) -> bool {
        self.is_clustered
    }

    /// Follows the publish port's events of presence.
    pub(crate) fn watch(self: &Arc<Self>) -> PresenceWatch {
        let (judge, attendance) = (Arc::clone(self), Arc::clone(self));
        let answering = Arc::clone(self);
        let watch = PresenceWatch::new(
            move |said| judge.minion_behind(said),
            move |event| attendance.record(event),
        )
        .answering(move |said, id| answering.answer_to(said, id));
        let _ = self.unproven.set(watch.unproven());
        let _ = self.interval.set(watch.interval());
        watch
    }

    /// How often minions say that they are there, where `wanted` is enough.
    pub(crate) fn sign_every(&self, wanted: Duration) -> Duration {
        let interval = self.interval.get();
        interval.map_or(wanted, |interval| interval.raise(wanted))
    }

    /// The minion that a sign of life proves to be there.
    fn minion_behind(&self, said: &[u8]) -> Option<MinionId> {
        let (sign, proof) = SignOfLife::decode(said)?;
        let shown_by = || self.shown_by.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shown_by().get(&sign.id).cloned();
        if known
            .as_ref()
            .is_some_and(|session| session.proves(&sign, &proof))
        {
            return Some(sign.id);
        }
        // Without the lock: the key's file may be on a directory that hangs.
        let keys = self.keys.get()?;
        let last = keys.sessions.last(&sign.id);
        let others = match self.is_clustered {
            true => keys.sessions_of(&sign.id),
            false => Vec::new(),
        };
        let mut sessions = last.into_iter().chain(others);
        let proven = sessions.find(|session| {
            let is_other = known
                .as_ref()
                .is_none_or(|known| !Arc::ptr_eq(known, session));
            is_other && session.proves(&sign, &proof)
        })?;
        shown_by().insert(sign.id.clone(), proven);
        Some(sign.id)
    }

    /// The answer to a sign of life that has proven a minion, if its sender asks for one.
    fn answer_to(&self, said: &[u8], id: &MinionId) -> Option<Vec<u8>> {
        let (sign, _) = SignOfLife::decode(said)?;
        let has_to_ask = self.has_to_ask.get().filter(|_| sign.wants_answer)?;
        let shown_by = self.shown_by.lock().unwrap_or_else(PoisonError::into_inner);
        let session = shown_by.get(id).cloned()?;
        drop(shown_by);
        let ask = has_to_ask(id)?;
        Some(session.answer(&SignAnswer {
            sign_in: sign.sign_in,
            count: sign.count,
            every_ms: u32::try_from(self.sign_every(Duration::ZERO).as_millis()).unwrap_or(0),
            ask,
        }))
    }

    fn record(&self, event: PresenceEvent) {
        let (id, change) = match event {
            PresenceEvent::Here(id) => (id, Change::Connected),
            PresenceEvent::Gone(id) => (id, Change::Disconnected),
            PresenceEvent::Silent(id) => {
                tracing::debug!(minion = %id, "the minion no longer gives signs of life");
                (id, Change::Silent)
            }
        };
        let is_here = change == Change::Connected;
        if is_here {
            self.distrusts().remove(&id);
        }
        if self.lock().record(&id, is_here, now_micros()) {
            tracing::debug!(minion = %id, is_here, "presence");
            self.histories.record(&id, change);
            if let Some(on_change) = self.on_change.get() {
                on_change(&id, is_here);
            }
            self.changed.notify_one();
        }
    }

    /// A minion has made a request that is proven, and shows its presence to
    /// this master or does not.
    pub(crate) fn asked(&self, id: &MinionId, shows_presence: bool) {
        self.distrusts().remove(id);
        if !shows_presence {
            self.lock().forget_away(id);
        }
    }

    /// The state of a minion's connection.
    pub(crate) fn presence(&self, id: &MinionId) -> Option<Presence> {
        let here = self.lock().presence(id);
        if let Some(Presence::Here(_)) = here {
            return here;
        }
        let elsewhere = self
            .elsewhere()
            .master_of(id)
            .map(|(_, since)| Presence::Here(since));
        elsewhere.or(here)
    }

    /// The other master that a minion is connected to, if it is not to this one.
    pub(crate) fn master_of(&self, id: &MinionId) -> Option<String> {
        if let Some(Presence::Here(_)) = self.lock().presence(id) {
            return None;
        }
        let elsewhere = self.elsewhere();
        let (master, _) = elsewhere.master_of(id)?;
        Some(master.to_string())
    }

    /// All masters of the cluster that a minion is connected to; this one by the name
    /// `own`, if the minion has shown itself here.
    pub(crate) fn masters_of(&self, id: &MinionId, own: &str) -> Vec<String> {
        let is_here = matches!(self.lock().presence(id), Some(Presence::Here(_)));
        let mut masters: Vec<String> = is_here.then(|| own.to_owned()).into_iter().collect();
        let elsewhere = self.elsewhere();
        let others = elsewhere.masters_of(id);
        masters.extend(others.map(|(master, _)| master.to_string()));
        masters.sort_unstable();
        masters
    }

    /// Sets what is called when a minion connects or disconnects.
    pub(crate) fn on_change(&self, tell: OnChange) {
        let _ = self.on_change.set(tell);
    }

    /// Sets how to find out which minions are to ask for missed jobs. Before that no sign
    /// of life is answered.
    pub(crate) fn on_question(&self, has_to_ask: HasToAsk) {
        let _ = self.has_to_ask.set(has_to_ask);
    }

    /// The minions that are here.
    pub(crate) fn here(&self) -> Vec<MinionId> {
        self.lock().here()
    }

    /// Another master reports the minions connected to it: all of them, or changes.
    pub(crate) fn heard_of(&self, master: &str, is_complete: bool, minions: Vec<(MinionId, bool)>) {
        let master: Arc<str> = master.into();
        let changes = self
            .elsewhere()
            .tells(&master, is_complete, minions, now_micros());
        self.histories.record_at(&master, &changes);
        self.changed.notify_one();
    }

    /// Another master cannot be reached any more; of the others only `members` are
    /// remembered.
    pub(crate) fn master_is_away(&self, master: &str, members: &[PeerId]) {
        let mut elsewhere = self.elsewhere();
        elsewhere.is_away(master, now_micros());
        elsewhere.retain(|of| members.iter().any(|member| member.as_str() == of));
        drop(elsewhere);
        self.changed.notify_one();
    }

    /// The history of a minion's connections, oldest first: up to a number of the newest
    /// changes of each kind, and the masters that it was connected to and that cannot be
    /// reached.
    pub(crate) fn history_of(&self, id: &MinionId, count: usize) -> Vec<Entry> {
        let mut all = self.histories.newest(id, count);
        let elsewhere = self.elsewhere();
        let unheard = elsewhere.unheard_masters_of(id);
        all.extend(unheard.map(|(master, since)| Entry {
            change: Change::Unreachable,
            master: Some(Arc::clone(master)),
            first_micros: since,
            last_micros: since,
            times: 1,
        }));
        all.sort_by_key(|entry| entry.first_micros);
        all
    }

    fn elsewhere(&self) -> MutexGuard<'_, OtherConnections> {
        self.elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// For how long there was no connection, or end of one, that was not a known
    /// minion's: who has not shown itself was in none for as long. `None` while
    /// there is such a connection.
    pub(crate) fn all_known_for(&self) -> Option<Duration> {
        if self.is_clustered {
            // A connection of a minion that does not show itself may be another
            // master's.
            return None;
        }
        Some(self.unproven.get()?.none_since()?.elapsed())
    }

    /// Somebody has signed in as a minion, and knows another master's key or not. That
    /// takes no more than the minion's public key.
    pub(crate) fn signed_in(&self, id: &MinionId, knows_another: bool) {
        self.histories.record(
            id,
            match knows_another {
                true => Change::TrustsAnother,
                false => Change::SignedIn,
            },
        );
        let mut distrusts = self.distrusts();
        if !knows_another {
            distrusts.remove(id);
        } else if distrusts.contains_key(id) || distrusts.len() < ROSTER_SEATS_MAX {
            distrusts.insert(id.clone(), now_micros());
        }
    }

    /// When somebody has last signed in as this minion that knows another
    /// master's key, if the minion was not heard since.
    pub(crate) fn distrusted_by(&self, id: &MinionId) -> Option<u64> {
        self.distrusts().get(id).copied()
    }

    fn distrusts(&self) -> MutexGuard<'_, HashMap<MinionId, u64>> {
        self.distrusts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a minion comes or goes.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
