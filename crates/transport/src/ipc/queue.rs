//! The queue of one subscriber, bounded in events and bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::bus_event::BusEvent;

/// What happens to an event that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The subscriber is disconnected: it would miss events without knowing.
    Close,
    /// The oldest events make room, and are counted.
    DropOldest,
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Wakes the one task that takes events.
    changed: Notify,
    /// Wakes the one task that waits for `cut`.
    was_cut: Notify,
    events_max: usize,
    bytes_max: usize,
    overflow: Overflow,
    /// Tags of the wanted events begin with one of these; empty for all.
    prefixes: Vec<String>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<BusEvent>,
    bytes: usize,
    lost: u64,
    end: End,
}

/// Whether more events come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// The bus is closed: what is queued is still wanted.
    Closed,
    /// The subscriber has disconnected or was disconnected.
    Cut,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Fine,
    /// This or older events were dropped.
    Lost,
    /// The subscriber was just disconnected.
    Cut,
    /// The subscriber does not exist any more.
    Gone,
}

impl Queue {
    pub(super) fn new(
        events_max: usize,
        bytes_max: usize,
        overflow: Overflow,
        prefixes: Vec<String>,
    ) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            was_cut: Notify::new(),
            events_max: events_max.max(1),
            bytes_max,
            overflow,
            prefixes,
        }
    }

    /// Whether the subscriber wants events of this tag.
    pub(super) fn wants(&self, tag: &str) -> bool {
        let mut prefixes = self.prefixes.iter();
        self.prefixes.is_empty() || prefixes.any(|prefix| tag.starts_with(prefix))
    }

    pub(super) fn push(&self, event: &BusEvent) -> Pushed {
        let wanted = self.wants(event.tag());
        let mut state = self.lock();
        if state.end != End::Open {
            return Pushed::Gone;
        }
        if !wanted {
            return Pushed::Fine;
        }
        let size = event.size();
        let mut pushed = Pushed::Fine;
        // A single event always fits, so that a small limit stops nothing.
        while !state.events.is_empty()
            && (state.events.len() >= self.events_max || state.bytes + size > self.bytes_max)
        {
            match self.overflow {
                Overflow::Close => {
                    *state = State {
                        end: End::Cut,
                        ..State::default()
                    };
                    drop(state);
                    self.changed.notify_one();
                    self.was_cut.notify_one();
                    return Pushed::Cut;
                }
                Overflow::DropOldest => {
                    pushed = Pushed::Lost;
                    state.lost += 1;
                    let oldest = state.events.pop_front();
                    state.bytes -= oldest.map_or(0, |oldest| oldest.size());
                }
            }
        }
        state.bytes += size;
        state.events.push_back(event.clone());
        drop(state);
        self.changed.notify_one();
        pushed
    }

    /// The next event; `None` when there will be none. One task waits at most.
    pub(super) async fn next(&self) -> Option<BusEvent> {
        loop {
            {
                let mut state = self.lock();
                if let Some(event) = state.pop() {
                    return Some(event);
                }
                if state.end != End::Open {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    /// The next event, if one is here.
    pub(super) fn try_next(&self) -> Option<BusEvent> {
        self.lock().pop()
    }

    /// Waits until the subscriber is disconnected.
    pub(super) async fn cut(&self) {
        while self.lock().end != End::Cut {
            self.was_cut.notified().await;
        }
    }

    /// No event comes after this; what is queued can still be taken.
    pub(super) fn close(&self) {
        self.end(End::Closed);
    }

    /// The subscriber has disconnected.
    pub(super) fn abandon(&self) {
        self.end(End::Cut);
    }

    pub(super) fn lost(&self) -> u64 {
        self.lock().lost
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().events.len()
    }

    fn end(&self, end: End) {
        let mut state = self.lock();
        if state.end == End::Open || end == End::Cut {
            state.end = end;
        }
        drop(state);
        self.changed.notify_one();
        self.was_cut.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pop(&mut self) -> Option<BusEvent> {
        let event = self.events.pop_front()?;
        self.bytes -= event.size();
        Some(event)
    }
}

/// A subscription of this process. Dropping it ends it.
#[derive(Debug)]
pub struct LocalEvents(pub(super) Arc<Queue>);

impl LocalEvents {
    /// The next event; `None` when the bus is closed. Nothing is lost when the
    /// future is dropped.
    pub async fn recv(&mut self) -> Option<BusEvent> {
        self.0.next().await
    }

    /// The next event, if one is here.
    pub fn try_recv(&mut self) -> Option<BusEvent> {
        self.0.try_next()
    }

    /// Events this subscription has lost because it did not read in time.
    pub fn lost(&self) -> u64 {
        self.0.lost()
    }
}

impl Drop for LocalEvents {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::super::bus_event::Origin;
    use super::*;

    fn event(tag: &str) -> BusEvent {
        BusEvent::new(format!("{tag}\n\n\u{0}").as_bytes(), Origin::Here).unwrap()
    }

    fn queue(events_max: usize, bytes_max: usize, overflow: Overflow) -> Queue {
        Queue::new(events_max, bytes_max, overflow, Vec::new())
    }

    #[test]
    fn a_full_queue_closes_or_drops_the_oldest() {
        let closes = queue(2, 1000, Overflow::Close);
        assert_eq!(closes.push(&event("a")), Pushed::Fine);
        assert_eq!(closes.push(&event("b")), Pushed::Fine);
        assert_eq!(closes.push(&event("c")), Pushed::Cut);
        assert_eq!(closes.push(&event("d")), Pushed::Gone);
        assert!(closes.try_next().is_none());

        let drops = queue(2, 1000, Overflow::DropOldest);
        for tag in ["a", "b", "c"] {
            drops.push(&event(tag));
        }
        assert_eq!(drops.try_next().unwrap().tag(), "b");
        assert_eq!(drops.lost(), 1);
    }

    #[test]
    fn bytes_count_too_but_one_event_always_fits() {
        let small = queue(10, 30, Overflow::DropOldest);
        assert_eq!(small.push(&event(&"x".repeat(100))), Pushed::Fine);
        assert_eq!(small.push(&event("y")), Pushed::Lost);
        assert_eq!(small.try_next().unwrap().tag(), "y");
    }

    #[test]
    fn only_wanted_tags_are_queued() {
        let prefixes = vec!["salt/job/".to_owned(), "minion_".to_owned()];
        let queue = Queue::new(10, 1000, Overflow::DropOldest, prefixes);
        for tag in ["salt/auth", "salt/job/1/new", "minion_start"] {
            queue.push(&event(tag));
        }
        assert_eq!(queue.try_next().unwrap().tag(), "salt/job/1/new");
        assert_eq!(queue.try_next().unwrap().tag(), "minion_start");
        assert!(queue.try_next().is_none());
    }

    #[tokio::test]
    async fn a_closed_queue_is_read_to_its_end() {
        let queue = queue(10, 1000, Overflow::DropOldest);
        queue.push(&event("a"));
        queue.close();
        assert_eq!(queue.push(&event("b")), Pushed::Gone);
        assert_eq!(queue.next().await.unwrap().tag(), "a");
        assert!(queue.next().await.is_none());
    }
}
