//! Carries returns to masters, and keeps each on disk until one has taken it.
//!
//! A return goes to the master that asked. While that one is away the return
//! waits in the spool; after a while any other live master may have it, which
//! stores it just as well. Invariant: a return leaves the spool only when a
//! master has acknowledged it, or when a limit of the spool drops it.

mod desk;
mod forwarding;
mod lane;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use halite_crypto::random_bytes;
use halite_proto::msgpack::{self, Packing, Writer};
use halite_proto::publish::PublishLoad;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, PackError, Value};
use halite_spool::{Limits, Pending, SpoolError};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{debug, error, warn};

use self::desk::Desk;
use self::forwarding::Forwarding;
use self::lane::{Delivery, Lane};
use crate::core::backoff::Chance;
use crate::core::sign_in::chain;
use crate::limits::{DELIVERIES_MAX, NOT_STORED_PATIENCE};
use crate::state::{Master, Minion};

/// Shortest pause between two rounds, whatever is configured.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// Room for a spooled return as most are.
const LETTER_BYTES: usize = 512;

/// The mark of a spooled return that no other master is to have.
const NO_OTHER: &str = "no_other";

/// A return on its way.
pub struct Parcel {
    /// Its number in the spool; none if the disk did not take it.
    sequence: Option<u64>,
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
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn open(minion: Arc<Minion>, dir: &Path, limits: Limits) -> Result<Arc<Self>, SpoolError> {
        let desk = Desk::open(dir, limits)?;
        if desk.len() > 0 {
            warn!(
                returns = desk.len(),
                "returns of an earlier run wait for a master"
            );
        }
        for letter in desk.all()? {
            // A job that has run is not run again, whoever asks for it.
            if let Some(jid) = jid_of(&letter.payload) {
                minion.jobs().claim(&jid);
            }
        }
        let own_master_only = minion.opt_seconds("return_retry_timer", 5.0);
        let retry_max = minion.opt_seconds("return_retry_timer_max", 10.0);
        let masters = || minion.masters.iter();
        let lanes = masters().map(|_| Lane::new()).collect();
        let forwarding = masters().map(|_| Forwarding::default()).collect();
        Ok(Arc::new(Self {
            lanes,
            forwarding,
            minion,
            desk: Arc::new(desk),
            wake: Notify::new(),
            own_master_only,
            retry_max: retry_max.max(own_master_only),
        }))
    }

    /// Reports a job that an earlier run of this minion began and did not
    /// finish, from what its proc file holds. It is not run again: nobody knows
    /// how far it got.
    pub fn report_cut_off(&self, master: &str, load: &Map) {
        let mut load = load.clone();
        load.remove("pid");
        let Ok(load) = PublishLoad::from_map(load) else {
            return;
        };
        if !self.minion.jobs().claim(&load.jid) {
            // It had come to its end: its return is in the spool.
            return;
        }
        warn!(jid = %load.jid, fun = load.fun.to_text(), "the minion was stopped while this job ran");
        let text = "ERROR: the minion was stopped while this job ran";
        let jid = ReturnJid::Jid(load.jid);
        let mut result = JobReturn::new(jid, load.fun, load.arg, text.into(), 1);
        result.out = Some("nested".to_owned());
        result.user = load.user;
        let parcel = self.take_in(master.to_owned(), result);
        if let Some(sequence) = parcel.sequence {
            self.desk.put_back(sequence);
        }
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
        let spooled = pack_letter(&name, &load, no_other)
            .map_err(|error| error.to_string())
            .and_then(|packed| self.desk.append(&packed).map_err(|error| chain(&error)));
        let sequence = match spooled {
            Ok(sequence) => Some(sequence),
            Err(error) => {
                error!(
                    error,
                    "a return cannot be kept on disk; it lives as long as this process"
                );
                None
            }
        };
        Parcel {
            sequence,
            master: name,
            load,
        }
    }

    /// Carries a fresh return to its master. If that does not work it stays in
    /// the spool for later; without a spool it is tried until some master has
    /// it.
    pub async fn carry(&self, parcel: Parcel) {
        let own = self.named(&parcel.master);
        if let Some(own) = own.filter(|own| self.is_promising(*own))
            && self.hand_over(own, &parcel.load).await == Delivery::Done
        {
            if let Some(sequence) = parcel.sequence {
                self.desk.arrived(sequence);
            }
            return;
        }
        match parcel.sequence {
            Some(sequence) => {
                debug!(
                    sequence,
                    master = parcel.master,
                    "the return waits for its master"
                );
                self.desk.put_back(sequence);
            }
            None => self.carry_unspooled(&parcel).await,
        }
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
        let jid = load.get("jid").and_then(Value::as_str);
        let jid = jid.and_then(|jid| Jid::parse(jid).ok());
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
            if self.waiting() > 0 {
                self.carry_spooled().await;
            }
        }
    }

    /// Begins to carry what nobody carries yet. It is not waited for: one
    /// master that hangs must not hold up what others would take.
    async fn carry_spooled(self: &Arc<Self>) {
        let now = SystemTime::now();
        let mut masters = self.minion.masters.iter();
        let is_alone = !masters.any(|master| master.channel.is_signed_in());
        let count = if is_alone { 0 } else { DELIVERIES_MAX };
        for letter in self.desk.take(now, count).await {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                let sequence = letter.sequence;
                if this.carry_letter(letter, now).await {
                    this.desk.arrived(sequence);
                    // There may be more than one round takes.
                    this.wake.notify_one();
                } else {
                    this.desk.put_back(sequence);
                }
            });
        }
    }

    async fn carry_letter(self: &Arc<Self>, letter: Pending, now: SystemTime) -> bool {
        let Ok(Value::Map(mut map)) = msgpack::unpack_modern(&letter.payload) else {
            error!(
                sequence = letter.sequence,
                "what the spool holds is no return, dropped"
            );
            return true;
        };
        let own = map
            .get("master")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let Some(Value::Map(load)) = map.remove("load") else {
            error!(
                sequence = letter.sequence,
                "what the spool holds is no return, dropped"
            );
            return true;
        };
        let age = now.duration_since(letter.appended).unwrap_or_default();
        let mut is_stored_by_none = false;
        if let Some(master) = self.named(&own).filter(|own| self.is_promising(*own)) {
            match self.hand_over(master, &load).await {
                Delivery::Done => return true,
                Delivery::NotStored => is_stored_by_none = true,
                Delivery::NoAnswer => {}
            }
        }
        if map.get(NO_OTHER).is_some_and(Value::is_true) {
            let is_configured = self.named(&own).is_some();
            // Not to be waited for: it is not configured any more.
            return !is_configured || (is_stored_by_none && age > NOT_STORED_PATIENCE);
        }
        // A master that is not configured any more is not waited for.
        if age < self.own_master_only && self.named(&own).is_some() {
            return false;
        }
        for master in self.minion.turn() {
            if Some(master) == self.named(&own) || self.is_doubted(master) {
                continue;
            }
            match self.hand_over(master, &load).await {
                Delivery::Done => {
                    let master = self.name(master);
                    warn!(asked = own, master, "return given to another master");
                    self.note_whereabouts(&own, &load, master);
                    return true;
                }
                Delivery::NotStored => is_stored_by_none = true,
                Delivery::NoAnswer => {}
            }
        }
        if is_stored_by_none && age > NOT_STORED_PATIENCE {
            error!(asked = own, "no master can store a return, dropped");
            return true;
        }
        false
    }

    /// Without a disk, all there is to do is not to give up too soon.
    async fn carry_unspooled(&self, parcel: &Parcel) {
        let tries = self
            .minion
            .opts
            .get("return_retry_tries")
            .and_then(Value::as_i64)
            .unwrap_or(3);
        let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
        for _ in 0..tries.max(1) {
            let spread = chance.up_to(self.retry_max.saturating_sub(self.own_master_only));
            sleep(self.own_master_only + spread).await;
            for master in self.minion.turn() {
                if self.hand_over(master, &parcel.load).await == Delivery::Done {
                    return;
                }
            }
        }
        error!(
            master = parcel.master,
            "no master took a return, it is lost"
        );
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

/// What lies in the spool: whom it is for, and the `_return` request.
fn pack_letter(master: &str, load: &Map, no_other: bool) -> Result<Vec<u8>, PackError> {
    let ret = load.get("return").unwrap_or(&Value::Nil);
    let bytes = LETTER_BYTES + msgpack::packed_len(ret, Packing::Modern);
    let mut letter = Writer::with_capacity(Packing::Modern, bytes);
    letter.begin_map(if no_other { 3 } else { 2 })?;
    letter.str("master")?;
    letter.str(master)?;
    letter.str("load")?;
    letter.map(load)?;
    if no_other {
        letter.str(NO_OTHER)?;
        letter.bool(true);
    }
    Ok(letter.into_bytes())
}

/// The job that a spooled return belongs to.
fn jid_of(letter: &[u8]) -> Option<Jid> {
    let letter = msgpack::unpack_modern(letter).ok()?;
    Jid::parse(letter.get("load")?.get("jid")?.as_str()?).ok()
}

/// The `_return` request.
pub fn request(id: &MinionId, mut result: JobReturn) -> Map {
    // It may be large: there is one of it.
    let ret = std::mem::take(&mut result.ret);
    let mut load = Map::with_capacity(12);
    load.insert("cmd", "_return");
    load.insert("id", id);
    load.extend(result.to_map());
    load.insert("return", ret);
    load
}
