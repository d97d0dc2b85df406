//! Delivers returns to masters, and keeps each on disk until a master has
//! acknowledged it.
//!
//! A return goes to the master that asked. While that one is away the return waits
//! in the spool. After `return_retry_timer` any other live master may get it.
//! Invariant: a return leaves the spool only when a master has acknowledged it, or
//! when a limit of the spool drops it.

mod cut_off;
mod deliveries;
mod fitting;
mod forwarding;
mod kept_returns;
mod pieces;
mod shared_spool;
mod spooled_return;
mod unspooled;

pub use kept_returns::WaitingState;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use halite_crypto::random_bytes;
use halite_proto::Map;
use halite_proto::chance::Chance;
use halite_proto::returns::{JobReturn, PUBLISHER};
use halite_spool::{Limits, Pending};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{debug, error, warn};

use self::deliveries::{Deliveries, Delivery};
use self::forwarding::Forwarding;
use self::shared_spool::SharedSpool;
use self::spooled_return::SpooledReturn;
pub(crate) use self::spooled_return::mark_own_job;
pub use self::spooled_return::request;
use crate::core::origin::JobKey;
use crate::limits::{DELIVERIES_MAX, NOT_STORED_PATIENCE, REMOVED_CHECK};
use crate::minion::{Master, Minion};

/// Shortest pause between two rounds, whatever is configured.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// A return on its way.
pub struct Parcel {
    /// Its number in the spool.
    sequence: u64,
    /// The master that asked.
    master: String,
    /// The `_return` request.
    load: Map,
}

/// Carries the returns of a minion.
pub struct Courier {
    minion: Arc<Minion>,
    spool: Arc<SharedSpool>,
    wake: Notify,
    /// One per master, so that a master that hangs does not use up the permits of
    /// others.
    deliveries: Vec<Deliveries>,
    /// One per master: its results that other masters have.
    forwarding: Vec<Forwarding>,
    /// How long a return waits for its own master alone.
    own_master_only: Duration,
    retry_max: Duration,
}

impl Courier {
    /// Opens the spool in `dir`; what an earlier run left there is delivered too.
    /// While the directory is unusable, returns wait in memory.
    pub fn open(minion: Arc<Minion>, dir: &Path, limits: Limits) -> Arc<Self> {
        let minions = Arc::clone(&minion);
        let spool = SharedSpool::open(dir, limits, move |packed| {
            // A job that has run is not run again, whoever asks for it.
            let spooled = SpooledReturn::unpack(packed);
            if let Some(job) = spooled.and_then(|spooled| spooled.job()) {
                minions.jobs().claim(&job);
            }
        });
        let own_master_only = minion.opt_seconds("return_retry_timer", 5.0);
        let retry_max = minion.opt_seconds("return_retry_timer_max", 10.0);
        let masters = || minion.masters.iter();
        let deliveries = masters().map(|_| Deliveries::new()).collect();
        let forwarding = masters().map(|_| Forwarding::default()).collect();
        Arc::new(Self {
            deliveries,
            forwarding,
            minion,
            spool: Arc::new(spool),
            wake: Notify::new(),
            own_master_only,
            retry_max: retry_max.max(own_master_only),
        })
    }

    /// Stores a return for the numbered master. For job threads.
    pub fn accept(&self, master: usize, result: JobReturn) -> Parcel {
        self.take_in(self.name(master).to_owned(), result, None)
    }

    /// Stores the return of a job that the numbered master has published. For job
    /// threads.
    pub fn accept_published(&self, master: usize, result: JobReturn, key: JobKey) -> Parcel {
        self.take_in(self.name(master).to_owned(), result, Some(key))
    }

    /// Stores a return that only this master may get; others have their own. For job
    /// threads.
    pub fn accept_for_one(&self, master: usize, result: JobReturn) -> Parcel {
        let name = self.name(master).to_owned();
        self.keep(SpooledReturn {
            master: name,
            no_other: true,
            load: request(&self.minion.id, result),
            key: None,
        })
    }

    fn take_in(&self, master: String, result: JobReturn, key: Option<JobKey>) -> Parcel {
        self.keep(SpooledReturn {
            master,
            no_other: false,
            load: request(&self.minion.id, result),
            key,
        })
    }

    fn keep(&self, mut spooled: SpooledReturn) -> Parcel {
        if fitting::fit(&mut spooled.load) {
            let jid = spooled_return::jid_of(&spooled.load);
            let jid = jid.as_ref().map(tracing::field::display);
            warn!(jid, "cut a return that is too large to send");
        }
        let sequence = match spooled.pack() {
            Ok(packed) => self.spool.append(packed),
            Err(error) => {
                error!(%error, "could not write a return to the spool");
                0
            }
        };
        Parcel {
            sequence,
            master: spooled.master,
            load: spooled.load,
        }
    }

    /// Delivers a new return to its master; whether that has acknowledged it. If
    /// that fails it waits in the spool.
    pub async fn carry(&self, parcel: Parcel) -> bool {
        let own = self.named(&parcel.master);
        if let Some(own) = own.filter(|own| self.is_promising(*own))
            && self.hand_over(own, &parcel.load).await == Delivery::Done
        {
            self.spool.arrived(parcel.sequence);
            return true;
        }
        debug!(
            sequence = parcel.sequence,
            master = parcel.master,
            "kept the return until its master can be reached"
        );
        self.spool.put_back(parcel.sequence);
        false
    }

    /// A link has become ready: there may be something to deliver.
    pub fn link_is_ready(self: &Arc<Self>, master: usize) {
        if let Some(deliveries) = self.deliveries.get(master) {
            deliveries.clear_failure();
        }
        self.wake.notify_one();
        self.send_whereabouts(master);
    }

    /// Sends a master the list of its results that others have, in a task of its own.
    fn send_whereabouts(self: &Arc<Self>, master: usize) {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let forwarding = this.forwarding.get(master);
            if let (Some(forwarding), Some(master)) = (forwarding, this.minion.masters.get(master))
            {
                forwarding.send(&this.minion, master).await;
            }
        });
    }

    /// Records that another master has a result in place of the one that asked.
    fn record_whereabouts(self: &Arc<Self>, own: &str, load: &Map, at: &str) {
        let jid = spooled_return::jid_of(load);
        let (Some(own), Some(jid)) = (self.named(own), jid) else {
            return;
        };
        if let Some(forwarding) = self.forwarding.get(own) {
            forwarding.record(jid, at);
        }
        if self.is_promising(own) {
            self.send_whereabouts(own);
        }
    }

    /// How many returns wait for a master.
    pub fn waiting(&self) -> usize {
        self.spool.len()
    }

    /// The state of the waiting returns. May wait for the disk.
    pub fn waiting_state(&self) -> WaitingState {
        self.spool.state()
    }

    /// Whether new returns can be kept on disk, as far as is known.
    pub fn keeps_on_disk(&self) -> bool {
        self.spool.keeps_on_disk()
    }

    /// Logs what is lost when the process ends now.
    pub fn say_what_is_lost(&self) {
        let returns = self.spool.len_in_memory();
        if returns > 0 {
            error!(
                returns,
                "returns are lost: they could not be written to disk, and no master has stored them"
            );
        }
    }

    /// Delivers what waits in the spool, for as long as the minion runs.
    pub async fn run(self: Arc<Self>) {
        tokio::join!(
            self.carry_again_and_again(),
            self.spool.keep(),
            self.restore_again_and_again()
        );
    }

    /// Writes returns and claims again whose files somebody has removed: without
    /// both a job may be run twice.
    async fn restore_again_and_again(&self) {
        loop {
            sleep(REMOVED_CHECK).await;
            let (minion, spool) = (Arc::clone(&self.minion), Arc::clone(&self.spool));
            let restored = spawn_blocking(move || {
                spool.restore();
                minion.claims.keep();
            });
            // After a panic the next look does it.
            let _ = restored.await;
        }
    }

    async fn carry_again_and_again(self: &Arc<Self>) {
        let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
        loop {
            let spread = chance.up_to(self.retry_max.saturating_sub(self.own_master_only));
            let pause = self.own_master_only.max(PAUSE_MIN) + spread;
            tokio::select! {
                () = self.wake.notified() => {}
                () = sleep(pause) => {}
            }
            if self.waiting() > 0 || self.spool.is_shut() {
                self.carry_spooled().await;
            }
        }
    }

    /// Starts the delivery of what is not being delivered, in tasks of their own:
    /// one master that hangs must not hold up what others would take.
    async fn carry_spooled(self: &Arc<Self>) {
        let mut masters = self.minion.masters.iter();
        let is_alone = !masters.any(|master| master.channel.is_signed_in());
        let count = if is_alone { 0 } else { DELIVERIES_MAX };
        for kept in self.spool.take(count).await {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                let sequence = kept.sequence;
                if this.carry_again(kept).await {
                    this.spool.arrived(sequence);
                    // More may be waiting than one round takes.
                    this.wake.notify_one();
                } else {
                    this.spool.put_back(sequence);
                }
            });
        }
    }

    /// Tries to deliver a spooled return; returns whether it may leave the spool.
    async fn carry_again(self: &Arc<Self>, kept: Pending) -> bool {
        let Some(mut spooled) = SpooledReturn::unpack_or_name(&kept.payload) else {
            error!(
                sequence = kept.sequence,
                "dropped an entry of the spool that is not a return"
            );
            self.spool.give_up();
            return true;
        };
        // An earlier version may have kept more than can be sent.
        fitting::fit(&mut spooled.load);
        let own = self.named(&spooled.master);
        let mut is_refused = false;
        if let Some(own) = own.filter(|own| self.is_promising(*own)) {
            match self.hand_over(own, &spooled.load).await {
                Delivery::Done => return true,
                Delivery::Refused => is_refused = true,
                Delivery::NotStored | Delivery::NoAnswer => {}
            }
        }
        let is_given_up = |is_refused| is_refused && kept.age > NOT_STORED_PATIENCE;
        if spooled.no_other {
            // Do not wait for a master that is no longer configured.
            return own.is_none() || is_given_up(is_refused);
        }
        if kept.age < self.own_master_only && own.is_some() {
            return false;
        }
        for master in self.minion.turn() {
            if Some(master) == own || self.failed_recently(master) {
                continue;
            }
            let Some(load) = self.for_another(master, &spooled) else {
                continue;
            };
            match self.hand_over(master, &load).await {
                Delivery::Done => {
                    let (asked, master) = (&spooled.master, self.name(master));
                    warn!(asked, master, "delivered the return to another master");
                    self.record_whereabouts(asked, &spooled.load, master);
                    return true;
                }
                Delivery::Refused => is_refused = true,
                Delivery::NotStored | Delivery::NoAnswer => {}
            }
        }
        if is_given_up(is_refused) {
            error!(
                asked = spooled.master,
                "dropped a return: no master can store it"
            );
            self.spool.give_up();
        }
        is_given_up(is_refused)
    }

    /// The form of a return for a master that has not published the job, if it may have
    /// the return. That master may have a job of its own with the same id: a Halite
    /// master tells both apart by the master that allocated the id, a Salt master cannot.
    fn for_another<'a>(&self, master: usize, spooled: &'a SpooledReturn) -> Option<Cow<'a, Map>> {
        let Some(key) = &spooled.key else {
            return Some(Cow::Borrowed(&spooled.load));
        };
        let known = self.minion.masters.get(master)?;
        if known.channel.publisher().is_some() {
            let mut load = spooled.load.clone();
            load.insert(PUBLISHER, key.drawn_by());
            return Some(Cow::Owned(load));
        }
        let has_another = spooled
            .job()
            .is_some_and(|job| self.minion.jobs().has_another(&job, &known.name));
        (!has_another).then_some(Cow::Borrowed(&spooled.load))
    }

    async fn hand_over(&self, master: usize, load: &Map) -> Delivery {
        match (self.deliveries.get(master), self.minion.masters.get(master)) {
            (Some(deliveries), Some(master)) => deliveries.hand_over(master, load).await,
            _ => Delivery::NoAnswer,
        }
    }

    fn named(&self, name: &str) -> Option<usize> {
        let mut masters = self.minion.masters.iter();
        masters.position(|master| master.name == name)
    }

    fn name(&self, master: usize) -> &str {
        let master = self.minion.masters.get(master);
        master.map_or("", |master| master.name.as_str())
    }

    /// Whether a delivery to this master is worth a try now.
    fn is_promising(&self, master: usize) -> bool {
        let known = self.minion.masters.get(master);
        known.is_some_and(Master::is_ready) && !self.failed_recently(master)
    }

    fn failed_recently(&self, master: usize) -> bool {
        self.deliveries
            .get(master)
            .is_some_and(Deliveries::failed_recently)
    }
}
