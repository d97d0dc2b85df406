//! The master's event bus: every event gets its time and its size limit here.
//!
//! Invariant: firing never waits and never fails a request; an event that
//! cannot be packed is logged and lost.

mod facets;
mod late;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_metrics::Count;
use halite_proto::event::{
    Event, STAMP, TAG_END, may_have_larger, pack_entries, pack_with, tagify,
};
use halite_proto::msgpack::Entries;
use halite_proto::{IdError, Jid, Map, MinionId, Tag};
use halite_transport::ipc::{BusEvent, EventBus, ForLate, LocalEvents, Origin};

use self::late::LateJobs;

use crate::clock::now_micros;
use crate::core::tags::field_of;
use crate::error::chain;

/// What an event of another master of the cluster has: the name of that master, as
/// in Salt.
pub(crate) const PEER: &str = "__peer_id";

/// Whether an event is one that another master of the cluster has fired.
pub(crate) fn is_of_a_peer(event: &BusEvent) -> bool {
    event.origin() == Origin::Elsewhere
}

/// The event of a minion's return, packed.
pub(crate) struct ReturnEvent {
    packed: Vec<u8>,
    tag_bytes: usize,
    /// Whether nothing was left out because it is too large.
    is_whole: bool,
}

impl ReturnEvent {
    /// The packed data, if nothing was left out of it.
    pub(crate) fn whole_data(&self) -> Option<&[u8]> {
        let data = self.packed.get(self.tag_bytes + TAG_END.len()..);
        data.filter(|_| self.is_whole)
    }
}

/// The form of time stamps and the size of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether time stamps carry their offset, as those of 3008 do.
    pub(crate) offset: bool,
    /// `max_event_size`.
    pub(crate) event_bytes_max: usize,
}

/// Fires events.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    bus: EventBus,
    style: Style,
    late: Arc<Mutex<LateJobs>>,
    fired: Option<Count>,
}

impl Bus {
    /// Fires on `bus`, and counts it by the first part of tags.
    pub(crate) fn new(bus: EventBus, style: Style, fired: Option<Count>) -> Self {
        Self {
            bus,
            style,
            late: Arc::default(),
            fired,
        }
    }

    /// Fires an event under a tag of its own.
    pub(crate) fn fire(&self, tag: &str, data: Map) {
        self.fire_tagged(Tag::parse(tag), data);
    }

    /// Fires an event, and gives its data back: a copy of what is large costs as much as
    /// the event.
    pub(crate) fn fire_kept(&self, tag: &str, data: Map) -> Map {
        let mut data = self.fire_tagged(Tag::parse(tag), data);
        data.remove(STAMP);
        data
    }

    /// Whether something may be left out of an event of this data, because that is too
    /// large.
    pub(crate) fn may_trim(&self, data: &Entries) -> bool {
        may_have_larger(data.packed(), self.style.event_bytes_max).unwrap_or(true)
    }

    /// Fires an event of data that is packed, and that this master has made itself.
    pub(crate) fn fire_packed(&self, tag: &str, data: &Entries) {
        let tag = match Tag::parse(tag) {
            Ok(tag) => tag,
            Err(error) => {
                tracing::error!("could not fire an event: {error}");
                return;
            }
        };
        self.count_fired(&tag);
        match pack_entries(&tag, data, now_micros(), self.style.offset) {
            Ok(packed) => self.bus.fire(&packed),
            Err(error) => {
                tracing::error!(%tag, "could not fire an event: {}", chain(&error));
            }
        }
    }

    fn count_fired(&self, tag: &Tag) {
        if let Some(fired) = &self.fired {
            fired.add_heard(&[field_of(tag.as_str())]);
        }
    }

    /// Fires an event that is not passed to the other masters of the cluster: on behalf
    /// of `peer`, as one that it has sent.
    pub(crate) fn fire_here(&self, tag: &str, data: Map, peer: &str) {
        match Tag::parse(tag) {
            Ok(tag) => {
                let mut event = Event::new(tag, data);
                event.stamp(now_micros(), self.style.offset);
                self.relay(event, peer);
            }
            Err(error) => tracing::error!("could not fire an event: {error}"),
        }
    }

    /// Fires an event under `salt/<prefix>/<parts>`.
    pub(crate) fn fire_under<'a>(
        &self,
        prefix: &'a str,
        parts: impl IntoIterator<Item = &'a str>,
        data: Map,
    ) {
        self.fire_tagged(tagify(parts, prefix), data);
    }

    /// The event of a minion's return of a job, to be fired.
    pub(crate) fn return_event(&self, job: &str, id: &MinionId, data: Map) -> Option<ReturnEvent> {
        let event = self
            .begin(tagify([job, "ret", id.as_str()], "job"), data)
            .ok()?;
        let is_small = |packed: &Vec<u8>| packed.len() <= self.style.event_bytes_max;
        let whole = event.pack().ok().filter(is_small);
        Some(ReturnEvent {
            tag_bytes: event.tag.as_str().len(),
            is_whole: whole.is_some(),
            packed: match whole {
                Some(whole) => whole,
                None => self.pack(&event)?,
            },
        })
    }

    /// Fires the return of a job by a minion, also for a caller that only begins to
    /// listen now. `is_told` says whether the other masters of the cluster have it with
    /// the return.
    pub(crate) fn fire_return(
        &self,
        event: &ReturnEvent,
        jid: Option<&Jid>,
        id: &MinionId,
        is_told: bool,
    ) {
        let owner = id.as_str();
        let asked = jid.and_then(|jid| self.late_jobs().asked(jid));
        let why = asked.map(|asked| ForLate { owner, asked });
        let origin = match is_told {
            true => Origin::HereAndSent,
            false => Origin::Here,
        };
        self.bus.fire_from(&event.packed, origin, why);
    }

    /// The program that asks for a job may not listen yet. To be called before
    /// the job leaves.
    pub(crate) fn expect_late(&self, jid: &Jid) {
        self.late_jobs().expect(jid, Instant::now());
    }

    fn late_jobs(&self) -> MutexGuard<'_, LateJobs> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fires an event; its data, with its time.
    fn fire_tagged(&self, tag: Result<Tag, IdError>, data: Map) -> Map {
        match self.begin(tag, data) {
            Ok(event) => {
                if let Some(packed) = self.pack(&event) {
                    self.bus.fire(&packed);
                }
                event.data
            }
            Err(data) => data,
        }
    }

    /// An event of this master, with its time; the data, if there is none under this tag.
    fn begin(&self, tag: Result<Tag, IdError>, mut data: Map) -> Result<Event, Map> {
        // What another master has fired is reacted to and stored there: whoever says so of
        // an event of this one would hide it.
        data.remove(PEER);
        let tag = match tag {
            Ok(tag) => tag,
            Err(error) => {
                tracing::error!("could not fire an event: {error}");
                return Err(data);
            }
        };
        self.count_fired(&tag);
        let mut event = Event::new(tag, data);
        event.stamp(now_micros(), self.style.offset);
        Ok(event)
    }

    fn pack(&self, event: &Event) -> Option<Vec<u8>> {
        let packed = event.pack_trimmed(self.style.event_bytes_max);
        packed
            .inspect_err(|error| {
                tracing::error!(tag = %event.tag, "could not fire an event: {}", chain(error));
            })
            .ok()
    }

    /// Fires an event of another master of the cluster, with its time and the name of
    /// that master.
    pub(crate) fn relay(&self, mut event: Event, peer: &str) {
        event.data.insert(PEER, peer);
        let parts: Vec<&str> = event.tag.as_str().split('/').collect();
        let returned = match parts.as_slice() {
            ["salt", "job", jid, "ret", owner] => Jid::parse(*jid).ok().map(|jid| (jid, *owner)),
            _ => None,
        };
        let asked = returned.and_then(|(jid, owner)| Some((self.late_jobs().asked(&jid)?, owner)));
        let why = asked.map(|(asked, owner)| ForLate { owner, asked });
        match event.pack() {
            Ok(packed) => self.bus.fire_from(&packed, Origin::Elsewhere, why),
            Err(error) => {
                tracing::error!(tag = %event.tag, "could not fire an event: {}", chain(&error));
            }
        }
    }

    /// Fires the event of a return that another master of the cluster has taken, if
    /// anybody here may want it. `data` is its packed data.
    pub(crate) fn relay_return(&self, jid: &Jid, id: &MinionId, data: &[u8], peer: &str) {
        let owner = id.as_str();
        let Ok(tag) = tagify([jid.as_str(), "ret", owner], "job") else {
            return;
        };
        let asked = self.late_jobs().asked(jid);
        let why = asked.map(|asked| ForLate { owner, asked });
        if why.is_none() && !self.bus.has_subscriber(tag.as_str()) {
            return;
        }
        match pack_with(&tag, data, PEER, peer) {
            Some(packed) => self.bus.fire_from(&packed, Origin::Elsewhere, why),
            None => {
                tracing::warn!(%peer, %jid, minion = %id, "could not fire the event of a return: its data is not a map")
            }
        }
    }

    /// Subscribers, and the events that wait for all of them together.
    pub(crate) fn depth(&self) -> (usize, usize) {
        self.bus.depth()
    }

    /// Events that subscribers did not read in time. Subscribers of this process lose the
    /// event; others are disconnected.
    pub(crate) fn lost(&self) -> u64 {
        let counters = self.bus.counters();
        counters.dropped() + counters.closed()
    }

    /// The events from now on whose tag begins with `prefix`.
    pub(crate) fn subscribe(&self, prefix: String) -> LocalEvents {
        self.bus.subscribe_to(vec![prefix])
    }

    /// Hands the events from now on to `tell` that other masters of the cluster are still
    /// to be told of. It must neither wait nor fire.
    pub(crate) fn tell_peers(&self, tell: impl Fn(&[u8]) + Send + Sync + 'static) {
        self.bus.forward(move |event| tell(event.bytes()));
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::stream::Framing;
    use halite_transport::ipc::BusOptions;

    use super::*;

    #[tokio::test]
    async fn no_event_of_this_master_passes_for_one_of_a_peer() {
        let bus = EventBus::in_process(BusOptions::master(Framing::Prefixed));
        let style = Style {
            offset: true,
            event_bytes_max: 1024,
        };
        let bus = Bus::new(bus, style, None);
        let mut events = bus.subscribe(String::new());
        let data = || Map::from([("id", "web1"), (PEER, "m2")]);
        let id = MinionId::parse("web1").unwrap();
        bus.fire("web/says", data());
        bus.fire_under("job", ["1", "new"], data());
        let event = bus.return_event("1", &id, data()).unwrap();
        bus.fire_return(&event, None, &id, false);
        bus.fire_here("salt/run/1/ret", data(), "m3");
        for by in [None, None, None, Some("m3")] {
            let event = events.recv().await.unwrap();
            assert_eq!(is_of_a_peer(&event), by.is_some());
            let said = event.unpack().unwrap().data.remove(PEER);
            assert_eq!(said, by.map(Into::into));
        }
    }
}
