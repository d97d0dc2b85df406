//! How masters come to the same versions: changed data is announced, missing data
//! is requested, and digests find what was lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use halite_proto::{Map, Value};

use super::message::{Content, Message};
use super::sought::{Search, Sought};
use super::version::{DataName, Version};
use crate::clock::{ClockAhead, HybridClock, Stamp, check};
use crate::encoding::{DecodeError, Items};
use crate::limits::{
    DATA_ANSWER_MAX, DATA_ASKED_AT_ONCE_MAX, DATA_DIGEST_EVERY, DATA_VERSIONS_TOLD_MAX,
    ENTRIES_MAX, TOLD_AT_ONCE_MAX,
};
use crate::peer::PeerId;
use crate::table::Table;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send a message to a master.
    Send(PeerId, Message),
    /// Send a master what is stored under a name, with [`Exchange::content_of`].
    Give(PeerId, DataName),
    /// Store what a master has given, if it [`is_news`](Exchange::is_news) still, and
    /// say [`took`](Exchange::took).
    Store(DataName, Content),
}

/// The machine of one master.
#[derive(Debug)]
pub struct Exchange {
    me: PeerId,
    clock: HybridClock,
    versions: Table<DataName, Version>,
    links: BTreeMap<PeerId, Link>,
    /// What was changed here and is not named to the others yet.
    changed: BTreeSet<DataName>,
    /// What somebody waits for.
    sought: Sought,
    outputs: VecDeque<Output>,
}

/// What is between this master and another one.
#[derive(Debug)]
struct Link {
    next_digest: Instant,
    /// What it has and this master does not.
    wanted: BTreeSet<DataName>,
    /// What it was asked for.
    asked: BTreeSet<DataName>,
    /// By when it is to have answered.
    answers_by: Option<Instant>,
}

impl Exchange {
    /// The machine of the master `me`, which knows nothing.
    pub fn new(me: PeerId) -> Self {
        Self {
            me,
            clock: HybridClock::default(),
            versions: Table::new(),
            links: BTreeMap::new(),
            changed: BTreeSet::new(),
            sought: Sought::default(),
            outputs: VecDeque::new(),
        }
    }

    /// The machine as [`to_value`](Self::to_value) has written it.
    ///
    /// # Errors
    /// When that was not written by it.
    pub fn restore(me: PeerId, value: Value) -> Result<Self, DecodeError> {
        let mut exchange = Self::new(me);
        for item in Items::at_most(value, "versions", VERSIONS_MAX)? {
            let mut items = Items::of(item)?;
            let name = DataName::parse(&items.text("name", NAME_BYTES_MAX)?)?;
            let version = Version::from_items(&mut items)?;
            exchange.clock.restore(version.at);
            exchange.versions.set(&name, version);
        }
        Ok(exchange)
    }

    /// The versions, as they are kept.
    pub fn to_value(&self) -> Value {
        let version = |(name, version): (&DataName, &Version)| {
            let mut items = vec![name.as_ref().into()];
            items.extend(version.to_items());
            Value::List(items)
        };
        Value::List(self.versions.iter().map(version).collect())
    }

    /// How many versions there are, and how many are known to be later elsewhere.
    pub fn counts(&self) -> (usize, usize) {
        let lacking = self.links.values();
        let lacking = lacking.map(|link| link.wanted.len() + link.asked.len());
        (self.versions.len(), lacking.sum())
    }

    /// There is a link to a master.
    pub fn connected(&mut self, now: Instant, peer: PeerId) {
        let link = Link {
            next_digest: now,
            wanted: BTreeSet::new(),
            asked: BTreeSet::new(),
            answers_by: None,
        };
        let sought = self.sought.connected(&peer);
        self.ask_at_once(&peer, sought);
        self.links.insert(peer, link);
    }

    /// There is none any more.
    pub fn disconnected(&mut self, peer: &PeerId) {
        self.links.remove(peer);
        self.sought.disconnected(peer);
    }

    /// Somebody waits for something that is not stored here: asks all linked peers for
    /// it, and those that are linked until [`seek_no_more`](Self::seek_no_more). False if
    /// it was stored here and is not any more, or too much is sought already.
    pub fn seek(&mut self, now: Instant, name: &DataName) -> bool {
        if self.versions.get(name).is_some() {
            return false;
        }
        let Some(peers) = self.sought.begin(now, name, self.links.keys()) else {
            return false;
        };
        for peer in peers {
            self.ask_at_once(&peer, vec![name.clone()]);
        }
        true
    }

    /// How the search for something stands.
    pub fn search(&self, name: &DataName) -> Search {
        self.sought.state(name)
    }

    /// Whoever waited for it does not any more. To be said once for each successful
    /// [`seek`](Self::seek).
    pub fn seek_no_more(&mut self, now: Instant, name: &DataName) {
        self.sought.end(now, name);
    }

    /// Something is stored here of which it is not known since when.
    pub fn found(&mut self, name: &DataName) {
        if self.versions.get(name).is_none() {
            let version = Version {
                at: Stamp::default(),
                by: self.me.clone(),
                content: Some(0),
            };
            self.set(name, version);
        }
    }

    /// Something was taken from a minion, or removed (`None`), at `wall`
    /// microseconds since 1970.
    pub fn changed(&mut self, name: &DataName, content: Option<u64>, wall: u64) {
        let before = self.versions.get(name);
        if before.and_then(|before| before.content) == content {
            return;
        }
        let at = before.map(|before| before.at).unwrap_or_default();
        let version = Version {
            at: self.clock.next_after(at, wall),
            by: self.me.clone(),
            content,
        };
        if self.set(name, version) {
            self.changed.insert(name.clone());
        }
    }

    /// What a master has given is stored here.
    pub fn took(&mut self, name: &DataName, version: &Version, wall: u64) {
        if self.is_news(name, version) {
            self.clock.hear(version.at, wall);
            self.set(name, version.clone());
            self.sought.took(name);
        }
    }

    /// Forgets the versions that nobody asks for any more.
    pub fn retain(&mut self, is_known: impl Fn(&DataName, &Version) -> bool) {
        let versions = self.versions.iter();
        let gone = versions.filter(|(name, version)| !is_known(name, version));
        let gone: Vec<DataName> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.versions.remove(&name);
            self.changed.remove(&name);
        }
    }

    /// Whether a version is later than what is known here.
    pub fn is_news(&self, name: &DataName, version: &Version) -> bool {
        let known = self.versions.get(name);
        known.is_none_or(|known| version.is_later_than(known))
    }

    /// What to give of a name under which `data` is stored. What should be stored
    /// and is not is forgotten, so that others may have it.
    pub fn content_of(&mut self, name: &DataName, data: Option<Map>) -> Content {
        match (self.versions.get(name), data) {
            (None, _) => Content::Unknown,
            (Some(version), _) if version.content.is_none() => Content::Removed(version.clone()),
            (Some(version), Some(data)) => Content::Is(version.clone(), data),
            (Some(_), None) => {
                self.versions.remove(name);
                Content::Unknown
            }
        }
    }

    /// Takes what a master has said. `is_known` says under which names this master
    /// keeps anything.
    ///
    /// # Errors
    /// When a version is from the future; what else is in the message was taken.
    pub fn heard(
        &mut self,
        from: &PeerId,
        message: Message,
        (now, wall): (Instant, u64),
        is_known: impl Fn(&DataName) -> bool,
    ) -> Result<(), ClockAhead> {
        match message {
            Message::Digest(groups) => {
                self.name_what_differs(from, &groups);
                Ok(())
            }
            Message::Wants(names) => {
                let names = names.into_iter();
                let give = names.map(|name| Output::Give(from.clone(), name));
                self.outputs.extend(give);
                Ok(())
            }
            Message::Versions(versions) => {
                let mut result = Ok(());
                for (name, version) in versions {
                    if let Err(ahead) = check(version.at, wall) {
                        result = Err(ahead);
                    } else if is_known(&name)
                        && self.is_news(&name, &version)
                        && let Some(link) = self.links.get_mut(from)
                        && !link.asked.contains(&name)
                    {
                        link.wanted.insert(name);
                    }
                }
                self.ask(from, now);
                result
            }
            Message::Data(name, content) => {
                let link = self.links.get_mut(from);
                let was_asked = link.is_some_and(|link| link.asked.remove(&name));
                let was_sought = self.sought.answered(from, &name);
                // What nobody has asked for is not taken.
                if !was_asked && !was_sought {
                    return Ok(());
                }
                let result = self.given(name, content, wall, is_known);
                self.ask(from, now);
                result
            }
        }
    }

    /// What is due now.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        if self.outputs.is_empty() {
            self.name_what_has_changed();
        }
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        for link in self.links.values_mut() {
            if link.answers_by.is_some_and(|by| by <= now) {
                link.answers_by = None;
                link.asked.clear();
                link.wanted.clear();
            }
        }
        let mut links = self.links.iter_mut();
        let (peer, link) = links.find(|(_, link)| link.next_digest <= now)?;
        link.next_digest = now + DATA_DIGEST_EVERY;
        let groups = self.versions.buckets().to_vec();
        Some(Output::Send(peer.clone(), Message::Digest(groups)))
    }

    fn set(&mut self, name: &DataName, version: Version) -> bool {
        let has_room = self.versions.len() < VERSIONS_MAX || self.versions.get(name).is_some();
        if has_room {
            self.versions.set(name, version);
        }
        has_room
    }

    fn given(
        &mut self,
        name: DataName,
        content: Content,
        wall: u64,
        is_known: impl Fn(&DataName) -> bool,
    ) -> Result<(), ClockAhead> {
        let (Content::Is(version, _) | Content::Removed(version)) = &content else {
            return Ok(());
        };
        check(version.at, wall)?;
        if is_known(&name) && self.is_news(&name, version) {
            self.sought.given(&name);
            self.outputs.push_back(Output::Store(name, content));
        }
        Ok(())
    }

    fn ask_at_once(&mut self, peer: &PeerId, names: Vec<DataName>) {
        for some in names.chunks(DATA_ASKED_AT_ONCE_MAX) {
            let wants = Message::Wants(some.to_vec());
            self.outputs.push_back(Output::Send(peer.clone(), wants));
        }
    }

    /// Asks a master for some of what it has, unless it has not answered yet.
    fn ask(&mut self, peer: &PeerId, now: Instant) {
        let Some(link) = self.links.get_mut(peer) else {
            return;
        };
        if !link.asked.is_empty() {
            return;
        }
        while link.asked.len() < DATA_ASKED_AT_ONCE_MAX
            && let Some(name) = link.wanted.pop_first()
        {
            link.asked.insert(name);
        }
        link.answers_by = (!link.asked.is_empty()).then(|| now + DATA_ANSWER_MAX);
        if !link.asked.is_empty() {
            let wants = Message::Wants(link.asked.iter().cloned().collect());
            self.outputs.push_back(Output::Send(peer.clone(), wants));
        }
    }

    fn name_what_differs(&mut self, peer: &PeerId, theirs: &[u64]) {
        let ours = self.versions.buckets();
        let differing = (0..ours.len()).filter(|n| theirs.get(*n) != ours.get(*n));
        let versions: Vec<(DataName, Version)> = differing
            .flat_map(|bucket| self.versions.in_bucket(bucket))
            .map(|(name, version)| (name.clone(), version.clone()))
            .collect();
        self.name_to(peer, &versions);
    }

    fn name_what_has_changed(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        // Of more than that the digests tell.
        if changed.is_empty() || changed.len() > TOLD_AT_ONCE_MAX {
            return;
        }
        let version = |name: DataName| {
            let version = self.versions.get(&name)?.clone();
            Some((name, version))
        };
        let versions: Vec<(DataName, Version)> = changed.into_iter().filter_map(version).collect();
        let peers: Vec<PeerId> = self.links.keys().cloned().collect();
        for peer in peers {
            self.name_to(&peer, &versions);
        }
    }

    fn name_to(&mut self, peer: &PeerId, versions: &[(DataName, Version)]) {
        for some in versions.chunks(DATA_VERSIONS_TOLD_MAX) {
            let message = Message::Versions(some.to_vec());
            self.outputs.push_back(Output::Send(peer.clone(), message));
        }
    }
}

/// Versions that are kept: of each kind of minions' data one for each minion.
const VERSIONS_MAX: usize = 3 * ENTRIES_MAX;

/// The longest name: the longest id and its kind.
const NAME_BYTES_MAX: usize = 255 + 8;

#[cfg(test)]
mod tests;
