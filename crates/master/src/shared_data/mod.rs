//! Grains, pillar and mine of minions, and tokens, shared between masters of a
//! cluster that have no common place for them.
//!
//! `halite_cluster::data` decides which version is later; here it meets the stores
//! and the links. The main pillar of a minion is shared; those of further
//! environments and resources are not.

mod kept;
mod place;
mod sought;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_cluster::PeerId;
use halite_cluster::data::{Content, DataName, Exchange, Message, Output, Version, content_hash};
use halite_proto::{Map, MinionId, Value};
use halite_store::{Bank, StoreError, TokenId};

use self::kept::Kept;
pub(crate) use self::place::SharedPlaces;
use self::place::kind_of;
use self::sought::{Searches, name_of};
use crate::clock::now_micros;
use crate::cluster::message::Message as ToPeers;
use crate::cluster::{Channel, Cluster};
use crate::error::chain;
use crate::fleet::known_data::DataListener;
use crate::limits::DATA_TURNS;
use crate::tokens::TokenListener;

/// The name under which masters talk about this.
const CHANNEL: &str = "minion-data";

/// The file of versions in a master's own directory of the cluster.
const FILE: &str = "minion-data";

/// What this master and its peers know of minions and logins.
pub(crate) struct SharedData {
    cluster: Arc<Cluster>,
    places: SharedPlaces,
    exchange: Mutex<Exchange>,
    /// A lock per minion, held while its data changes.
    turns: Vec<Mutex<()>>,
    kept: Kept,
    /// Wakes threads that wait in `sought` when something has arrived, or a peer was
    /// lost.
    came: Condvar,
    searches: Searches,
}

impl SharedData {
    /// Restores the known versions, and listens to changes from now on. Reads the names
    /// of all stored data.
    pub(crate) fn open(cluster: Arc<Cluster>, places: SharedPlaces) -> Arc<Self> {
        let kept = Kept::new(cluster.own_file(FILE));
        let mut exchange = kept.read(&cluster.own);
        for name in places.names() {
            exchange.found(&name);
        }
        let this = Arc::new(Self {
            cluster,
            places,
            exchange: Mutex::new(exchange),
            turns: (0..DATA_TURNS).map(|_| Mutex::new(())).collect(),
            kept,
            came: Condvar::new(),
            searches: Searches::begin(Instant::now()),
        });
        if let Some(fleet) = &this.places.fleet {
            let listener = Arc::clone(&this) as Arc<dyn DataListener>;
            fleet.data.listen(listener);
        }
        if let Some(access) = &this.places.access {
            let listener = Arc::clone(&this) as Arc<dyn TokenListener>;
            access.tokens.listen(listener);
        }
        this
    }

    /// Names what has changed, and compares. Waits for the stores.
    pub(crate) fn tick(&self) {
        if self.kept.is_due(Instant::now()) {
            self.write();
        }
        self.act();
    }

    /// Writes down what is known of which version.
    pub(crate) fn write(&self) {
        let keeps = self.places.keeps();
        let mut exchange = self.exchange();
        exchange.retain(keeps);
        let versions = exchange.to_value();
        drop(exchange);
        self.kept.write(&versions);
    }

    /// How many versions there are, and how many are known to be later elsewhere.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.exchange().counts()
    }

    fn act(&self) {
        // They have the same files.
        if self.cluster.shares_cache() {
            return;
        }
        loop {
            let output = self.exchange().poll(Instant::now());
            match output {
                None => return,
                Some(Output::Send(peer, message)) => self.send(&peer, &message),
                Some(Output::Give(peer, name)) => self.give(&peer, name),
                Some(Output::Store(name, content)) => {
                    if let Err(error) = self.store(&name, content) {
                        // It is asked for again after the next comparison.
                        tracing::error!(
                            ?name,
                            "could not store an entry from another master: {}",
                            chain(&error)
                        );
                    }
                }
            }
        }
    }

    fn send(&self, peer: &PeerId, message: &Message) {
        let message = ToPeers::Channel(CHANNEL.to_owned(), message.to_value());
        self.cluster.tell_one(peer, &message);
    }

    fn give(&self, peer: &PeerId, name: DataName) {
        let content = {
            let _turn = self.turn(name.id());
            match self.places.get(&name) {
                Ok(stored) => self.exchange().content_of(&name, stored),
                Err(error) => {
                    tracing::error!(
                        ?name,
                        "could not read an entry that another master asked for: {}",
                        chain(&error)
                    );
                    Content::Unknown
                }
            }
        };
        self.send(peer, &Message::Data(name, content));
    }

    fn store(&self, name: &DataName, content: Content) -> Result<(), StoreError> {
        let (version, data) = match content {
            Content::Is(version, data) => (version, Some(data)),
            Content::Removed(version) => (version, None),
            Content::Unknown => return Ok(()),
        };
        let _turn = self.turn(name.id());
        if !self.is_news(name, &version) {
            return Ok(());
        }
        match data {
            Some(data) => self.places.put(name, &data)?,
            None => self.places.remove(name)?,
        }
        self.exchange().took(name, &version, now_micros());
        self.came.notify_all();
        Ok(())
    }

    fn is_news(&self, name: &DataName, version: &Version) -> bool {
        self.places.is_known(name) && self.exchange().is_news(name, version)
    }

    fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DataListener for SharedData {
    fn turn(&self, id: &MinionId) -> MutexGuard<'_, ()> {
        let sum: usize = id.as_str().bytes().map(usize::from).sum();
        let turn = &self.turns[sum % self.turns.len()];
        turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self, bank: Bank, id: &MinionId, data: Option<&Map>) {
        let name = DataName::new(kind_of(bank), id.clone());
        let content = data.map(content_hash);
        self.exchange().changed(&name, content, now_micros());
    }
}

impl TokenListener for SharedData {
    fn changed(&self, token: &TokenId, data: Option<&Map>) {
        let Some(name) = name_of(token) else {
            return;
        };
        let content = data.map(content_hash);
        self.exchange().changed(&name, content, now_micros());
        // Whoever has it may show it to another master at once.
        self.act();
    }

    fn seek(&self, token: &TokenId) {
        if let Some(name) = name_of(token).filter(|_| !self.cluster.shares_cache()) {
            self.search(&name);
        }
    }
}

impl Channel for SharedData {
    fn name(&self) -> &'static str {
        CHANNEL
    }

    fn peer_is_up(&self, peer: &PeerId) {
        self.exchange().connected(Instant::now(), peer.clone());
        self.act();
        self.came.notify_all();
    }

    fn peer_is_down(&self, peer: &PeerId) {
        self.exchange().disconnected(peer);
        self.came.notify_all();
    }

    fn receive(&self, peer: &PeerId, body: Value) {
        let message = match Message::from_value(body) {
            Ok(message) => message,
            Err(error) => {
                return tracing::warn!(
                    %peer,
                    "cannot read the peer's message about minions and tokens: {}",
                    chain(&error)
                );
            }
        };
        let at = (Instant::now(), now_micros());
        let is_known = |name: &DataName| self.places.is_known(name);
        let heard = self.exchange().heard(peer, message, at, is_known);
        if let Err(error) = heard {
            tracing::warn!(
                %peer,
                "ignored part of the peer's message about minions and tokens: {error}"
            );
        }
        self.act();
        self.came.notify_all();
    }
}
