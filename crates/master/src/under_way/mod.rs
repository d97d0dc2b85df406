//! What this master does that somebody waits for, as the others of its cluster know it,
//! and what is lost with one of them.
//!
//! A runner of a master that is away is over: each of the others keeps that in its job
//! cache and tells of it on its own event bus. A job in batches is gone on with by one of
//! them. Invariant: what a peer tells of a job that this master drives itself never ends
//! it but by `yields`.

mod batch_state;
mod lost_runner;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use halite_cluster::PeerId;
use halite_cluster::limits::WORKS_PER_MASTER_MAX;
use halite_cluster::under_way::{Lost, Message, Work, WorkKind, Works};
use halite_proto::{Jid, Map, MinionId, Value};

pub(crate) use self::batch_state::MASTER;
use self::batch_state::{is_ended_by, taken_over, yields};
pub(crate) use self::lost_runner::lost_return;
use crate::cluster::message::Message as ToPeers;
use crate::cluster::{Channel, Cluster};
use crate::core::owner::ProvenBy;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::jobs::Jobs;

/// The name under which masters talk about this.
const CHANNEL: &str = "under-way";

/// Called with a job in batches that another master drives from now on.
type OnYield = Box<dyn Fn(&Jid) + Send + Sync>;

/// The runners and batches that the masters of a cluster have under way.
pub(crate) struct UnderWay {
    cluster: Arc<Cluster>,
    bus: Arc<Bus>,
    jobs: Arc<Jobs>,
    /// Held while the peers are notified of a change, so that they receive changes in
    /// order.
    own: Mutex<BTreeMap<Jid, Work>>,
    works: Mutex<Works>,
    /// Jobs in batches of this master's last life, until it goes on with them.
    left: Mutex<Vec<Jid>>,
    on_yield: OnceLock<OnYield>,
}

impl UnderWay {
    /// Nothing is done yet.
    pub(crate) fn new(cluster: Arc<Cluster>, bus: Arc<Bus>, jobs: Arc<Jobs>) -> Self {
        Self {
            cluster,
            bus,
            jobs,
            own: Mutex::default(),
            works: Mutex::default(),
            left: Mutex::default(),
            on_yield: OnceLock::new(),
        }
    }

    /// Has this called with jobs in batches that are another master's from now on.
    pub(crate) fn on_yield(&self, call: OnYield) {
        let _ = self.on_yield.set(call);
    }

    /// A runner begins; `data` is what its event says.
    pub(crate) fn runner_begins(
        &self,
        jid: &Jid,
        data: &Map,
        is_kept: bool,
        by: Option<&ProvenBy>,
    ) {
        let data = lost_runner::announcement(data, &self.jobs.general.id, is_kept, by);
        self.begins(Work {
            jid: jid.clone(),
            kind: WorkKind::Runner,
            data,
        });
    }

    /// A job in batches begins, or this master goes on with it; `state` is what it goes on
    /// by.
    pub(crate) fn batch_begins(&self, jid: &Jid, state: &Map) {
        self.works().forget(jid);
        self.begins(Work {
            jid: jid.clone(),
            kind: WorkKind::Batch,
            data: state.clone(),
        });
    }

    fn begins(&self, work: Work) {
        let mut own = self.own();
        own.insert(work.jid.clone(), work.clone());
        self.tell(&Message::Begun(work));
    }

    /// Records the progress of a job in batches; a peer that connects later is told it.
    pub(crate) fn batch_is_at(&self, jid: &Jid, state: &Map) {
        if let Some(work) = self.own().get_mut(jid) {
            work.data.clone_from(state);
        }
    }

    /// The work has ended, and that was announced.
    pub(crate) fn ended(&self, jid: &Jid) {
        let mut own = self.own();
        if own.remove(jid).is_some() {
            self.tell(&Message::Ended(jid.clone()));
        }
    }

    /// A job in batches of this master's previous process is not continued.
    pub(crate) fn left_is_over(&self, jid: &Jid) {
        let _own = self.own();
        self.tell(&Message::Ended(jid.clone()));
    }

    /// This master was driving these jobs in batches when it was ended: the others say what
    /// of it is over. None from the moment on at which it goes on with them.
    pub(crate) fn leaves_for_now(&self, jids: Vec<Jid>) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = jids;
        left.truncate(WORKS_PER_MASTER_MAX);
        if !left.is_empty() {
            self.tell(&Message::Left(left.clone()));
        }
    }

    /// Tells a restarted master which of the jobs in batches that it was driving before
    /// this one has finished.
    fn say_over(&self, peer: &PeerId, left: &[Jid]) {
        for jid in left {
            if self.own().contains_key(jid) {
                continue;
            }
            let state = match self.jobs.cache.batch(jid) {
                Ok(state) => state.unwrap_or_default(),
                Err(error) => {
                    tracing::error!(%jid, "could not read a batch: {}", chain(&error));
                    continue;
                }
            };
            if is_ended_by(&state, &self.jobs.general.id) {
                self.tell_one(peer, &Message::Ended(jid.clone()));
            }
        }
    }

    /// Whether another master goes on with a job in batches that this one has left, or has
    /// ended it.
    pub(crate) fn is_elsewhere(&self, jid: &Jid) -> bool {
        let works = self.works();
        works.is_over(jid) || works.whose(jid).is_some()
    }

    /// A peer has sent a part of a job to minions.
    pub(crate) fn sent(&self, peer: &PeerId, jid: &Jid, minions: &[MinionId]) {
        self.works().sent(peer, jid, minions);
    }

    /// Ends runners that are lost with their masters; the jobs in batches that this master
    /// is to go on with, with what is known of them. Waits for the job cache.
    pub(crate) fn take_lost(&self) -> Vec<(Jid, Map)> {
        let leads = self.cluster.leads();
        let lost = self.works().lost(Instant::now(), leads);
        let batches = lost.into_iter().filter_map(|lost| self.take(lost));
        batches.collect()
    }

    fn take(&self, lost: Lost) -> Option<(Jid, Map)> {
        let Lost { peer, work, sent } = lost;
        match work.kind {
            WorkKind::Runner => {
                lost_runner::end(&self.jobs, &self.bus, peer.as_str(), &work.jid, work.data);
                None
            }
            WorkKind::Batch => {
                tracing::warn!(
                    jid = %work.jid,
                    "continuing a job in batches of {peer}, which is not connected"
                );
                Some((work.jid, taken_over(work.data, &sent)))
            }
        }
    }

    fn tell(&self, message: &Message) {
        let message = ToPeers::Channel(CHANNEL.to_owned(), message.to_value());
        self.cluster.tell(&message);
    }

    fn tell_one(&self, peer: &PeerId, message: &Message) {
        let message = ToPeers::Channel(CHANNEL.to_owned(), message.to_value());
        self.cluster.tell_one(peer, &message);
    }

    fn own(&self) -> MutexGuard<'_, BTreeMap<Jid, Work>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn works(&self) -> MutexGuard<'_, Works> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces once more that this master drives a job in batches that a peer claims
    /// too: the others believe the last announcement, and the peer leaves the job. A
    /// runner cannot be left, so this would not end for one.
    fn says_again(&self, jid: &Jid) {
        let own = self.own();
        if let Some(work) = own.get(jid).filter(|work| work.kind == WorkKind::Batch) {
            self.tell(&Message::Begun(work.clone()));
        }
    }

    /// Whether what a peer begins is left to it.
    fn leaves(&self, peer: &PeerId, work: &Work) -> bool {
        let mut own = self.own();
        let Some(here) = own.get(&work.jid) else {
            return true;
        };
        let is_batch = here.kind == WorkKind::Batch && work.kind == WorkKind::Batch;
        if !is_batch || !yields((&self.cluster.own, &here.data), (peer, &work.data)) {
            return false;
        }
        own.remove(&work.jid);
        true
    }
}

impl Channel for UnderWay {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn peer_is_up(&self, peer: &PeerId) {
        self.works().connected(peer);
        let own = self.own();
        for work in own.values() {
            self.tell_one(peer, &Message::Begun(work.clone()));
        }
        let all = own.keys().cloned().collect();
        self.tell_one(peer, &Message::All(all));
        drop(own);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if !left.is_empty() {
            self.tell_one(peer, &Message::Left(left.clone()));
        }
    }

    fn peer_is_down(&self, peer: &PeerId) {
        self.works().disconnected(peer, Instant::now());
    }

    fn receive(&self, peer: &PeerId, body: Value) {
        let message = match Message::from_value(body) {
            Ok(message) => message,
            Err(error) => {
                return tracing::warn!(
                    %peer,
                    "cannot read the peer's message about its work: {}",
                    chain(&error)
                );
            }
        };
        if let Message::Left(left) = &message {
            return self.say_over(peer, left);
        }
        if let Message::Begun(work) = &message {
            let is_own = self.own().contains_key(&work.jid);
            if !self.leaves(peer, work) {
                return self.says_again(&work.jid);
            }
            if let Some(call) = self.on_yield.get().filter(|_| is_own) {
                tracing::info!(jid = %work.jid, "leaving a job in batches to {peer}");
                call(&work.jid);
            }
        }
        let heard = self.works().heard(peer, message);
        match heard {
            Ok(lost) => {
                for lost in lost {
                    self.take(lost);
                }
            }
            Err(_) => tracing::warn!(
                %peer,
                "the peer runs more runners and batches than are recorded for one master: those \
                 beyond the limit are neither continued nor reported as lost if that master dies"
            ),
        }
    }
}
