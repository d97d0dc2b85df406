//! What the masters of a cluster without shared files agree on: minion keys, membership,
//! and the publish key.
//!
//! `halite_cluster` decides; here are its files and the key store. Each master
//! looks for decisions in its own store, sends them to the others, and applies
//! theirs to its store.

mod error;
mod join_acceptor;
mod kept;
mod publish_key;
mod status;
mod store_mirror;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use halite_cluster::join::{Asks, Refusal};
use halite_cluster::{Message, Output, PeerId, Sync};
use halite_crypto::Secret;
use halite_mesh::PeerAddress;
use halite_proto::Value;

pub(crate) use self::error::RegistersError;
pub(crate) use self::join_acceptor::JoinAcceptor;
use self::publish_key::InUse;
use self::store_mirror::{Effects, StoreMirror};
use crate::clock::now_micros;
use crate::cluster::joining::{Admission, REGISTERS_DIR};
use crate::cluster::message::Message as ToPeers;
use crate::cluster::{Channel, Cluster};
use crate::error::chain;
use crate::fleet::Fleet;
use crate::keys::Keys;
use crate::publishing::Publishing;

/// The name under which masters talk about their registers.
const CHANNEL: &str = "registers";

/// The parts of the master that the registers use.
pub(crate) struct RegisterParts {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) publishing: Arc<Publishing>,
}

/// The registers of this master, and its talk with the others about them.
pub(crate) struct KeyRegisters {
    pub(crate) me: PeerId,
    pub(crate) parts: RegisterParts,
    state: Mutex<State>,
}

struct State {
    mirror: StoreMirror,
    sync: Sync,
    in_use: InUse,
    /// Why the last look failed, which was logged.
    trouble: Option<String>,
}

impl KeyRegisters {
    /// Opens the registers. A master that founds the cluster is its first member,
    /// and what it has decided about keys so far counts, as does its publish key.
    /// From then on the publish key is that of the registers.
    ///
    /// # Errors
    /// When a file cannot be used, or the clock is wrong.
    pub(crate) fn open(parts: RegisterParts) -> Result<Arc<Self>, RegistersError> {
        let cluster = &parts.cluster;
        let me = PeerId::parse(cluster.own.as_str()).map_err(RegistersError::Id)?;
        let files = cluster.settings.pki_dir.join(REGISTERS_DIR);
        let (store, dir) = (parts.keys.store.clone(), cluster.dir.clone());
        let wall = now_micros();
        let mut mirror = StoreMirror::open(files, &me, store, dir, wall)?;
        let used = parts.publishing.publisher.key().key.clone();
        if !mirror.is_joining() && !mirror.registers.was_removed(&me) {
            let address = cluster.settings.address(me.as_str());
            mirror.admit(&me, &cluster.own_key, &address, wall)?;
        }
        if !mirror.is_joining() && mirror.registers.publish_key().is_none() {
            mirror.rotate(used.clone(), wall)?;
        }
        let this = Arc::new(Self {
            me,
            parts,
            state: Mutex::new(State {
                mirror,
                sync: Sync::new(),
                in_use: InUse::of_file(used),
                trouble: None,
            }),
        });
        let agreed: Weak<Self> = Arc::downgrade(&this);
        this.parts.publishing.agree_by(agreed);
        let mut state = this.state();
        this.use_publish_key(&mut state)?;
        this.dial_members(&state);
        drop(state);
        Ok(this)
    }

    /// Reads decisions, and sends what is due. Waits for the disk.
    pub(crate) fn tick(&self) {
        let mut state = self.state();
        if state.mirror.is_joining() && state.sync.has_agreed(&state.mirror.registers) {
            let _all = self.parts.keys.lock_all_filing();
            match state.mirror.has_joined() {
                Ok(()) => tracing::info!("this master has the keys of the cluster"),
                Err(error) => tracing::error!("{}", chain(&error)),
            }
        }
        let mut effects = Effects::default();
        let looked = {
            let _all = self.parts.keys.lock_all_filing();
            let looked = self.look(&mut state);
            let settled = state.mirror.settle(&mut effects);
            looked.and(settled)
        };
        let followed = self.follow(&mut state, &effects);
        self.note_trouble(&mut state, looked.and(followed));
        self.send(&mut state);
        let rotates = self.has_to_rotate(&mut state);
        drop(state);
        if rotates {
            self.parts.publishing.rotate();
        }
    }

    /// Admits a master that has proven that it may join.
    pub(super) fn admit(&self, asks: &Asks) -> Result<Admission, Refusal> {
        let mut state = self.state();
        if state.mirror.is_joining() {
            return Err(Refusal::Busy);
        }
        let registers = &mut state.mirror.registers;
        let is_other = |(id, key, _): (&PeerId, &str, &str)| {
            *id == asks.id && halite_crypto::clean_key(key) != halite_crypto::clean_key(&asks.key)
        };
        if registers.members().any(is_other) {
            return Err(Refusal::NameTaken);
        }
        if registers.publish_key().is_none() {
            return Err(Refusal::Busy);
        }
        let admission = self.take_in(&mut state, asks).map_err(|error| {
            tracing::error!(
                peer = %asks.id,
                "could not add a master to the cluster: {}",
                chain(&error)
            );
            match error {
                RegistersError::Register(_) => Refusal::Full,
                _ => Refusal::Failed,
            }
        })?;
        self.dial_members(&state);
        self.send(&mut state);
        Ok(admission)
    }

    /// Removes a master from the cluster, at once; returns whether it was a member.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub(crate) fn remove(&self, peer: &PeerId) -> Result<bool, RegistersError> {
        let mut state = self.state();
        let State { mirror, sync, .. } = &mut *state;
        if !mirror.remove_member(peer, now_micros()) {
            return Ok(false);
        }
        let mut effects = Effects::default();
        let kept = {
            let _all = self.parts.keys.lock_all_filing();
            mirror.settle(&mut effects)
        };
        sync.disconnected(peer);
        let peers = std::slice::from_ref(peer);
        sync.tell(&mirror.registers.some([], peers, false));
        // What fails here is tried again by the next tick.
        let _ = self.follow(&mut state, &effects);
        self.send(&mut state);
        drop(state);
        self.refresh_pins();
        // It knows the publish key.
        self.parts.publishing.rotate();
        kept.map(|()| true)
    }

    fn take_in(&self, state: &mut State, asks: &Asks) -> Result<Admission, RegistersError> {
        let State { mirror, sync, .. } = state;
        mirror.admit(&asks.id, &asks.key, &asks.address, now_micros())?;
        let registers = &mirror.registers;
        let members: Vec<PeerId> = registers.members().map(|(id, ..)| id.clone()).collect();
        sync.tell(&registers.some([], std::slice::from_ref(&asks.id), false));
        self.refresh_pins();
        let pem = self.parts.cluster.identity.private().to_pem();
        Ok(Admission {
            cluster_pem: Secret::new(pem.map_err(RegistersError::ClusterKey)?.expose().clone()),
            delta: registers.some([], &members, true),
        })
    }

    /// Reads the decisions made here, and sends them to the others. The caller must have
    /// locked the filing of keys.
    fn look(&self, state: &mut State) -> Result<(), RegistersError> {
        let State { mirror, sync, .. } = state;
        let wall = now_micros();
        let decided = mirror.look(wall)?;
        sync.tell_keys(&mirror.registers, &decided);
        if mirror.is_joining() {
            return Ok(());
        }
        let removed = mirror.look_at_members(wall)?;
        if !removed.is_empty() {
            sync.tell(&mirror.registers.some([], &removed, false));
        }
        Ok(())
    }

    /// Applies a peer's message about its registers.
    fn hear(&self, peer: &PeerId, body: Value) -> Result<(), RegistersError> {
        let message = Message::from_value(body).map_err(RegistersError::Unreadable)?;
        let mut state = self.state();
        let mut effects = Effects::default();
        let heard = {
            let _all = self.parts.keys.lock_all_filing();
            // What was decided here counts as such before anything is merged. What
            // is wrong with that is no reason not to hear the others: the next tick
            // says it.
            let _ = self.look(&mut state);
            let State { mirror, sync, .. } = &mut *state;
            mirror.hear(sync, peer, message, now_micros(), &mut effects)
        };
        let _ = self.follow(&mut state, &effects);
        self.send(&mut state);
        heard
    }

    /// Does what follows from what was heard.
    fn follow(&self, state: &mut State, effects: &Effects) -> Result<(), RegistersError> {
        let RegisterParts { keys, fleet, .. } = &self.parts;
        if !effects.lost.is_empty() {
            keys.end_sessions();
        }
        for id in &effects.deleted {
            fleet.forget_minion_data(id);
        }
        for id in &effects.undone {
            tracing::warn!(
                minion = %id,
                "the key was accepted here, but another master rejected or deleted it meanwhile: \
                 it is not accepted"
            );
        }
        for id in &effects.displaced {
            tracing::warn!(
                minion = %id,
                "the key accepted here differs from the one that the cluster has accepted: it is \
                 no longer accepted"
            );
        }
        // Who has revoked them did not know that they were accepted and may have the
        // publish key.
        state.in_use.is_spent |= !effects.undone.is_empty() || !effects.displaced.is_empty();
        if !effects.members.is_empty() {
            self.refresh_pins();
            self.dial_members(state);
        }
        self.use_publish_key(state)
    }

    fn refresh_pins(&self) {
        if let Err(error) = self.parts.cluster.mesh.refresh_pins() {
            tracing::error!("could not read the keys of the peers: {}", chain(&error));
        }
    }

    fn dial_members(&self, state: &State) {
        for (id, _, address) in state.mirror.registers.members() {
            // Where the configuration says how a peer is reached, that holds.
            let mut configured = self.parts.cluster.settings.peers.iter();
            if *id == self.me
                || address.is_empty()
                || configured.any(|peer| peer.host() == id.as_str())
            {
                continue;
            }
            match PeerAddress::parse(address, self.parts.cluster.settings.listen.port()) {
                Ok(address) => self.parts.cluster.mesh.also_dial(address),
                Err(error) => {
                    tracing::warn!(peer = %id, "the address of the peer is unusable: {error}")
                }
            }
        }
    }

    fn send(&self, state: &mut State) {
        let State { mirror, sync, .. } = state;
        while let Some(Output::Send(to, message)) =
            sync.poll(&mut mirror.registers, Instant::now(), now_micros())
        {
            let message = ToPeers::Channel(CHANNEL.to_owned(), message.to_value());
            self.parts.cluster.tell_one(&to, &message);
        }
    }

    /// Logs trouble once, and its end.
    fn note_trouble(&self, state: &mut State, done: Result<(), RegistersError>) {
        let trouble = done.err().map(|error| chain(&error));
        if trouble != state.trouble {
            match &trouble {
                Some(why) => tracing::error!("could not keep the cluster's registers: {why}"),
                None => tracing::info!("the cluster's registers can be kept again"),
            }
        }
        state.trouble = trouble;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Channel for KeyRegisters {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn peer_is_up(&self, peer: &PeerId) {
        let mut state = self.state();
        state.sync.connected(Instant::now(), peer.clone());
        self.send(&mut state);
    }

    fn peer_is_down(&self, peer: &PeerId) {
        self.state().sync.disconnected(peer);
    }

    fn receive(&self, peer: &PeerId, body: Value) {
        if let Err(error) = self.hear(peer, body) {
            tracing::error!(
                %peer,
                "ignored the peer's message about the registers: {}",
                chain(&error)
            );
        }
    }
}
