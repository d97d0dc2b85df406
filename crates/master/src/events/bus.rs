//! The master's event bus: every event gets its time and its size limit here.
//!
//! Invariant: firing never waits and never fails a request; an event that
//! cannot be packed is logged and lost.

mod facets;
mod late;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_metrics::Count;
use halite_proto::event::{Event, STAMP, tagify};
use halite_proto::{IdError, Jid, Map, MinionId, Tag};
use halite_transport::ipc::{EventBus, ForLate, LocalEvents};

use self::late::LateJobs;

use crate::clock::now_micros;
use crate::core::tags::field_of;
use crate::error::chain;

/// What an event of another master of the cluster has: the name of that master, as
/// in Salt.
const PEER: &str = "__peer_id";

/// Whether a packed event is one that another master of the cluster has fired.
pub(crate) fn is_of_a_peer(event: &[u8]) -> bool {
    // Most events do not have the word anywhere.
    event
        .windows(PEER.len())
        .any(|bytes| bytes == PEER.as_bytes())
        && Event::unpack(event).is_ok_and(|event| event.data.contains_key(PEER))
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
        self.fire_tagged(Tag::parse(tag), data, None);
    }

    /// Fires an event, and gives its data back: a copy of what is large costs as much as
    /// the event.
    pub(crate) fn fire_kept(&self, tag: &str, data: Map) -> Map {
        let mut data = self.fire_tagged(Tag::parse(tag), data, None);
        data.remove(STAMP);
        data
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
        self.fire_tagged(tagify(parts, prefix), data, None);
    }

    /// Fires the return of a job by a minion, also for a caller that only begins to
    /// listen now.
    pub(crate) fn tell_return(&self, job: &str, jid: Option<&Jid>, id: &MinionId, data: Map) {
        let owner = id.as_str();
        let asked = jid.and_then(|jid| self.late_jobs().asked(jid));
        let why = asked.map(|asked| ForLate { owner, asked });
        drop(self.fire_tagged(tagify([job, "ret", owner], "job"), data, why));
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
    fn fire_tagged(
        &self,
        tag: Result<Tag, IdError>,
        mut data: Map,
        why: Option<ForLate<'_>>,
    ) -> Map {
        // What another master has fired is reacted to and stored there: whoever says so of
        // an event of this one would hide it.
        data.remove(PEER);
        let tag = match tag {
            Ok(tag) => tag,
            Err(error) => {
                tracing::error!("could not fire an event: {error}");
                return data;
            }
        };
        if let Some(fired) = &self.fired {
            fired.add_heard(&[field_of(tag.as_str())]);
        }
        let mut event = Event::new(tag, data);
        event.stamp(now_micros(), self.style.offset);
        match event.pack_trimmed(self.style.event_bytes_max) {
            Ok(packed) => match why {
                Some(why) => self.bus.fire_for_late(&packed, why),
                None => self.bus.fire(&packed),
            },
            Err(error) => {
                tracing::error!(tag = %event.tag, "could not fire an event: {}", chain(&error));
            }
        }
        event.data
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
        match event.pack() {
            Ok(packed) => match asked {
                Some((asked, owner)) => self.bus.fire_for_late(&packed, ForLate { owner, asked }),
                None => self.bus.fire(&packed),
            },
            Err(error) => {
                tracing::error!(tag = %event.tag, "could not fire an event: {}", chain(&error));
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
        bus.tell_return("1", None, &id, data());
        bus.fire_here("salt/run/1/ret", data(), "m3");
        for by in [None, None, None, Some("m3")] {
            let event = events.recv().await.unwrap();
            assert_eq!(is_of_a_peer(event.bytes()), by.is_some());
            let said = event.unpack().unwrap().data.remove(PEER);
            assert_eq!(said, by.map(Into::into));
        }
    }
}
