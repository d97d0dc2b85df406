//! Carries returns to masters, and keeps each on disk until one has taken it.
//!
//! A return goes to the master that asked. While that one is away the return
//! waits in the spool; after a while any other live master may have it, which
//! stores it just as well. Invariant: a return leaves the spool only when a
//! master has acknowledged it, or when a limit of the spool drops it.

mod desk;
mod forwarding;
mod lane;
mod letter;
mod shelf;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use halite_crypto::random_bytes;
use halite_proto::chance::Chance;
use halite_proto::publish::PublishLoad;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Map, Value};
use halite_spool::{Limits, Pending};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{debug, error, warn};

use self::desk::Desk;
use self::forwarding::Forwarding;
use self::lane::{Delivery, Lane};
use self::letter::Letter;
pub use self::letter::request;
use crate::limits::{DELIVERIES_MAX, NOT_STORED_PATIENCE};
use crate::own_jobs;
use crate::proc_files::LeftBehind;
use crate::state::{Master, Minion};

/// Shortest pause between two rounds, whatever is configured.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// What is returned as the function of a job of which only the id is left.
const UNKNOWN_FUN: &str = "unknown";

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
    desk: Arc<Desk>,
    wake: Notify,
    /// One of these per master: one that hangs takes no other's places.
    lanes: Vec<Lane>,
    /// And one of these: what each is told of its results at other masters.
    forwarding: Vec<Forwarding>,
    /// How long a return waits for its own master alone.
    own_master_only: Duration,
    retry_max: Duration,
}

impl Courier {
    /// Opens the spool in `dir`; what an earlier run left there is carried too.
    /// While the directory cannot be used, returns wait in memory.
    pub fn open(minion: Arc<Minion>, dir: &Path, limits: Limits) -> Arc<Self> {
        let minions = Arc::clone(&minion);
        let desk = Desk::open(dir, limits, move |packed| {
            // A job that has run is not run again, whoever asks for it.
            let letter = Letter::unpack(packed);
            if let Some(jid) = letter.and_then(|letter| letter.jid()) {
                minions.jobs().claim(&jid);
            }
        });
        let own_master_only = minion.opt_seconds("return_retry_timer", 5.0);
        let retry_max = minion.opt_seconds("return_retry_timer_max", 10.0);
        let masters = || minion.masters.iter();
        let lanes = masters().map(|_| Lane::new()).collect();
        let forwarding = masters().map(|_| Forwarding::default()).collect();
        Arc::new(Self {
            lanes,
            forwarding,
            minion,
            desk: Arc::new(desk),
            wake: Notify::new(),
            own_master_only,
            retry_max: retry_max.max(own_master_only),
        })
    }

    /// Reports a job that an earlier run of this minion began and did not
    /// finish, from what its proc file holds. It is not run again: nobody knows
    /// how far it got.
    pub fn report_cut_off(&self, master: &str, left: &LeftBehind) {
        let Some(mut result) = cut_off(left) else {
            return;
        };
        if !self.minion.jobs().claim(&left.jid) {
            // It had come to its end: its return is in the spool.
            return;
        }
        let fun = result.fun.to_text();
        warn!(jid = %left.jid, fun, "the minion was stopped while this job ran");
        result.out = Some("nested".to_owned());
        for parcel in self.take_in_cut_off(master, result) {
            self.desk.put_back(parcel.sequence);
        }
    }

    fn take_in_cut_off(&self, master: &str, result: JobReturn) -> Vec<Parcel> {
        if matches!(result.jid, ReturnJid::Jid(_)) {
            return vec![self.take_in(master.to_owned(), result)];
        }
        // No master is there yet. Each is told of a job of the schedule; where
        // one at a time is served, and of other jobs, the first that comes.
        let master_type = self.minion.opts.get("master_type").and_then(Value::as_str);
        let is_one_of_them = matches!(master_type, Some("failover" | "distributed"));
        if result.schedule.is_none() || is_one_of_them {
            return vec![self.accept(0, result)];
        }
        let masters = 0..self.minion.masters.len();
        masters
            .map(|master| self.accept_for_one(master, result.clone()))
            .collect()
    }

    /// Takes a return for the numbered master onto the disk. For job threads.
    pub fn accept(&self, master: usize, result: JobReturn) -> Parcel {
        let name = self
            .minion
            .masters
            .get(master)
            .map(|master| master.name.clone());
        self.take_in(name.unwrap_or_default(), result)
    }

    /// Takes a return onto the disk that is meant for this master and no
    /// other: others have their own. For job threads.
    pub fn accept_for_one(&self, master: usize, result: JobReturn) -> Parcel {
        let name = self.name(master).to_owned();
        self.take_in_for(name, result, true)
    }

    fn take_in(&self, name: String, result: JobReturn) -> Parcel {
        self.take_in_for(name, result, false)
    }

    fn take_in_for(&self, name: String, result: JobReturn, no_other: bool) -> Parcel {
        let load = request(&self.minion.id, result);
        let sequence = match letter::pack(&name, &load, no_other) {
            Ok(packed) => self.desk.append(packed),
            Err(error) => {
                error!(%error, "a return cannot be kept");
                0
            }
        };
        Parcel {
            sequence,
            master: name,
            load,
        }
    }

    /// Carries a fresh return to its master. If that does not work it waits in
    /// the spool for later.
    pub async fn carry(&self, parcel: Parcel) {
        let own = self.named(&parcel.master);
        if let Some(own) = own.filter(|own| self.is_promising(*own))
            && self.hand_over(own, &parcel.load).await == Delivery::Done
        {
            self.desk.arrived(parcel.sequence);
            return;
        }
        debug!(
            sequence = parcel.sequence,
            master = parcel.master,
            "the return waits for its master"
        );
        self.desk.put_back(parcel.sequence);
    }

    /// A link has become ready: there may be something to deliver.
    pub fn link_is_ready(self: &Arc<Self>, master: usize) {
        if let Some(lane) = self.lanes.get(master) {
            lane.doubt(None);
        }
        self.wake.notify_one();
        self.tell_whereabouts(master);
    }

    /// Tells a master which of its results others have. It is not waited for.
    fn tell_whereabouts(self: &Arc<Self>, master: usize) {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let forwarding = this.forwarding.get(master);
            if let (Some(forwarding), Some(master)) = (forwarding, this.minion.masters.get(master))
            {
                forwarding.tell(&this.minion, master).await;
            }
        });
    }

    /// Another master has a result that the one that asked has not.
    fn note_whereabouts(self: &Arc<Self>, own: &str, load: &Map, at: &str) {
        let jid = letter::jid_of(load);
        let (Some(own), Some(jid)) = (self.named(own), jid) else {
            return;
        };
        if let Some(forwarding) = self.forwarding.get(own) {
            forwarding.note(jid, at);
        }
        if self.is_promising(own) {
            self.tell_whereabouts(own);
        }
    }

    /// How many returns wait for a master.
    pub fn waiting(&self) -> usize {
        self.desk.len()
    }

    /// Says what is lost when the process ends now.
    pub fn say_what_is_lost(&self) {
        let returns = self.desk.len_in_memory();
        if returns > 0 {
            error!(
                returns,
                "the disk did not take them and no master has them: they are lost"
            );
        }
    }

    /// Carries what waits in the spool, for as long as the minion runs.
    pub async fn run(self: Arc<Self>) {
        tokio::join!(self.carry_again_and_again(), self.desk.keep());
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
            if self.waiting() > 0 || self.desk.is_shut() {
                self.carry_spooled().await;
            }
        }
    }

    /// Begins to carry what nobody carries yet. It is not waited for: one
    /// master that hangs must not hold up what others would take.
    async fn carry_spooled(self: &Arc<Self>) {
        let mut masters = self.minion.masters.iter();
        let is_alone = !masters.any(|master| master.channel.is_signed_in());
        let count = if is_alone { 0 } else { DELIVERIES_MAX };
        for kept in self.desk.take(count).await {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                let sequence = kept.sequence;
                if this.carry_again(kept).await {
                    this.desk.arrived(sequence);
                    // There may be more than one round takes.
                    this.wake.notify_one();
                } else {
                    this.desk.put_back(sequence);
                }
            });
        }
    }

    /// Whether a return from the spool is done with.
    async fn carry_again(self: &Arc<Self>, kept: Pending) -> bool {
        let Some(letter) = Letter::unpack(&kept.payload) else {
            error!(
                sequence = kept.sequence,
                "what the spool holds is no return, dropped"
            );
            return true;
        };
        let own = self.named(&letter.master);
        let mut is_refused = false;
        if let Some(own) = own.filter(|own| self.is_promising(*own)) {
            match self.hand_over(own, &letter.load).await {
                Delivery::Done => return true,
                Delivery::Refused => is_refused = true,
                Delivery::NotStored | Delivery::NoAnswer => {}
            }
        }
        let is_given_up = |is_refused| is_refused && kept.age > NOT_STORED_PATIENCE;
        if letter.no_other {
            // A master that is not configured any more is not waited for.
            return own.is_none() || is_given_up(is_refused);
        }
        if kept.age < self.own_master_only && own.is_some() {
            return false;
        }
        for master in self.minion.turn() {
            if Some(master) == own || self.is_doubted(master) {
                continue;
            }
            match self.hand_over(master, &letter.load).await {
                Delivery::Done => {
                    let (asked, master) = (&letter.master, self.name(master));
                    warn!(asked, master, "return given to another master");
                    self.note_whereabouts(asked, &letter.load, master);
                    return true;
                }
                Delivery::Refused => is_refused = true,
                Delivery::NotStored | Delivery::NoAnswer => {}
            }
        }
        if is_given_up(is_refused) {
            error!(
                asked = letter.master,
                "no master can store a return, dropped"
            );
        }
        is_given_up(is_refused)
    }

    async fn hand_over(&self, master: usize, load: &Map) -> Delivery {
        match (self.lanes.get(master), self.minion.masters.get(master)) {
            (Some(lane), Some(master)) => lane.hand_over(master, load).await,
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

    /// Whether a return for this master is worth a try now.
    fn is_promising(&self, master: usize) -> bool {
        let known = self.minion.masters.get(master);
        known.is_some_and(Master::is_ready) && !self.is_doubted(master)
    }

    fn is_doubted(&self, master: usize) -> bool {
        self.lanes.get(master).is_some_and(Lane::is_doubted)
    }
}

/// What is returned for a job that was cut off; nothing for one of somebody
/// else's, or one of the minion's own that nobody is to be told of.
fn cut_off(left: &LeftBehind) -> Option<JobReturn> {
    let result = |jid, fun, args| {
        let text = "ERROR: the minion was stopped while this job ran";
        JobReturn::new(jid, fun, args, text.into(), 1)
    };
    let jid = ReturnJid::Jid(left.jid.clone());
    let Some(load) = &left.load else {
        return Some(result(jid, UNKNOWN_FUN.into(), Vec::new()));
    };
    if let Some(returned) = &left.returned {
        let text = |name: &str| load.get(name).and_then(Value::as_str);
        let args = load.get("fun_args").and_then(Value::as_list);
        let fun = text("fun").unwrap_or(UNKNOWN_FUN).into();
        let mut result = result(returned.clone(), fun, args.unwrap_or_default().to_vec());
        own_jobs::mark(&mut result, &left.jid);
        result.schedule = text("schedule").map(str::to_owned);
        result.metadata = load.get("metadata").cloned();
        return Some(result);
    }
    let mut load = load.clone();
    load.remove("pid");
    let load = PublishLoad::from_map(load).ok()?;
    let mut result = result(jid, load.fun, load.arg);
    result.user = load.user;
    Some(result)
}
