//! Which events the returners of a master get, and how many at once.
//!
//! Mirrors `EventReturn` of `salt/utils/event.py` (3008.5). Invariant: an event for
//! a returner is handed on exactly once, in order.

use std::time::{Duration, Instant};

use halite_proto::event::Event;
use halite_target::glob::fnmatch;

/// Bytes of events that may wait for others before they are handed on.
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Which events are gathered.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// `event_return_queue`.
    pub count: usize,
    /// `event_return_queue_max_seconds`; `None` for no limit.
    pub age_max: Option<Duration>,
    /// `event_return_whitelist`; empty for all.
    pub allow: Vec<String>,
    /// `event_return_blacklist`.
    pub deny: Vec<String>,
}

impl Rules {
    /// Whether events of this tag are handed on.
    pub fn want(&self, tag: &str) -> bool {
        let is_one_of = |globs: &[String]| globs.iter().any(|glob| fnmatch(glob, tag));
        (self.allow.is_empty() || is_one_of(&self.allow)) && !is_one_of(&self.deny)
    }
}

/// Events that wait for others.
#[derive(Debug)]
pub struct Gathering {
    rules: Rules,
    events: Vec<Event>,
    bytes: usize,
    oldest: Option<Instant>,
}

impl Gathering {
    /// Nothing waits yet.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            events: Vec::new(),
            bytes: 0,
            oldest: None,
        }
    }

    /// Whether events of this tag are handed on.
    pub fn wants(&self, tag: &str) -> bool {
        self.rules.want(tag)
    }

    /// Has an event wait; `bytes` is its size.
    pub fn add(&mut self, event: Event, bytes: usize, now: Instant) {
        self.events.push(event);
        self.bytes += bytes;
        self.oldest.get_or_insert(now);
    }

    /// When those that wait are to be handed on at the latest.
    pub fn due_at(&self) -> Option<Instant> {
        self.oldest?.checked_add(self.rules.age_max?)
    }

    /// Whether they are to be handed on now.
    pub fn is_due(&self, now: Instant) -> bool {
        if self.events.is_empty() {
            return false;
        }
        self.events.len() >= self.rules.count
            || self.bytes >= WAITING_BYTES_MAX
            || self.due_at().is_some_and(|due| due <= now)
    }

    /// The waiting events.
    pub fn take(&mut self) -> Vec<Event> {
        self.bytes = 0;
        self.oldest = None;
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::{Map, Tag};

    use super::*;

    fn event(tag: &str) -> Event {
        Event::new(Tag::parse(tag).unwrap(), Map::new())
    }

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn tags_are_let_in_and_kept_out() {
        let all = Rules::default();
        assert!(all.want("salt/auth"));
        let some = Rules {
            allow: texts(&["salt/job/*", "my/*"]),
            deny: texts(&["salt/job/*/ret/*"]),
            ..Rules::default()
        };
        assert!(some.want("my/tag") && some.want("salt/job/1/new"));
        assert!(!some.want("salt/auth") && !some.want("salt/job/1/ret/m1"));
    }

    #[test]
    fn events_wait_for_their_number_or_their_time() {
        let now = Instant::now();
        let mut gathering = Gathering::new(Rules {
            count: 3,
            age_max: Some(Duration::from_secs(5)),
            ..Rules::default()
        });
        assert!(!gathering.is_due(now) && gathering.due_at().is_none());
        gathering.add(event("a"), 10, now);
        gathering.add(event("b"), 10, now + Duration::from_secs(4));
        assert!(!gathering.is_due(now + Duration::from_secs(4)));
        assert_eq!(gathering.due_at(), Some(now + Duration::from_secs(5)));
        assert!(gathering.is_due(now + Duration::from_secs(5)));
        gathering.add(event("c"), 10, now);
        assert!(gathering.is_due(now));
        let tags: Vec<String> = gathering
            .take()
            .iter()
            .map(|event| event.tag.to_string())
            .collect();
        assert_eq!(tags, ["a", "b", "c"]);
        assert!(!gathering.is_due(now + Duration::from_secs(60)));
    }

    #[test]
    fn without_a_number_nothing_waits_and_memory_is_bound() {
        let now = Instant::now();
        let mut at_once = Gathering::new(Rules::default());
        at_once.add(event("a"), 10, now);
        assert!(at_once.is_due(now));
        let mut many = Gathering::new(Rules {
            count: 1_000_000,
            ..Rules::default()
        });
        many.add(event("a"), 10, now);
        assert!(!many.is_due(now + Duration::from_secs(86_400)));
        many.add(event("b"), WAITING_BYTES_MAX, now);
        assert!(many.is_due(now));
    }
}
