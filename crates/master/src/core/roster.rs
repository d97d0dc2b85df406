//! Which minions are connected, by the publish port's presence events.
//!
//! Only Halite minions prove their presence. Invariant: a minion listed as away was
//! connected before, and was seen leaving. Of minions that have never sent a sign
//! of life a master knows only whether each of its connections belongs to another
//! minion ([`is_gone`]).

use std::collections::HashMap;
use std::time::Duration;

use halite_proto::MinionId;

use crate::limits::ABSENCE_MIN;

/// The state of a minion's connection; times are in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Connected since then.
    Here(u64),
    /// Not connected since then.
    Away(u64),
}

/// The connections of Halite minions.
#[derive(Debug, Default)]
pub struct Roster {
    minions: HashMap<MinionId, Presence>,
    /// Most minions that are kept.
    minions_max: usize,
}

impl Roster {
    /// Tracks at most `minions_max` minions. Beyond it those that are not connected are
    /// forgotten, then no more are added.
    pub fn new(minions_max: usize) -> Self {
        Self {
            minions_max,
            minions: HashMap::new(),
        }
    }

    /// Records that a minion has connected or disconnected; returns whether that is a
    /// change.
    pub fn record(&mut self, id: &MinionId, is_here: bool, now_micros: u64) -> bool {
        let known = self.minions.get(id).copied();
        match (known, is_here) {
            (Some(Presence::Here(_)), true) | (None | Some(Presence::Away(_)), false) => {
                return false;
            }
            _ => {}
        }
        if known.is_none() && self.minions.len() >= self.minions_max {
            self.minions
                .retain(|_, presence| matches!(presence, Presence::Here(_)));
            if self.minions.len() >= self.minions_max {
                return false;
            }
        }
        let presence = if is_here {
            Presence::Here(now_micros)
        } else {
            Presence::Away(now_micros)
        };
        self.minions.insert(id.clone(), presence);
        true
    }

    /// The minion has proven that it is connected without giving signs of life, so an
    /// earlier disconnection under this id says nothing about it.
    pub fn forget_away(&mut self, id: &MinionId) {
        if let Some(Presence::Away(_)) = self.minions.get(id) {
            self.minions.remove(id);
        }
    }

    /// The minions that are here.
    pub fn here(&self) -> Vec<MinionId> {
        let minions = self.minions.iter();
        let here = minions.filter(|(_, presence)| matches!(presence, Presence::Here(_)));
        here.map(|(id, _)| id.clone()).collect()
    }

    /// The state of a minion's connection.
    pub fn presence(&self, id: &MinionId) -> Option<Presence> {
        self.minions.get(id).copied()
    }
}

/// Whether nobody needs to wait for a minion: it has shown itself and is away
/// since before `before_micros`, or has never shown itself and was `absent_for`
/// longer than any minion takes to connect again.
pub fn is_gone(
    presence: Option<Presence>,
    absent_for: Option<Duration>,
    before_micros: u64,
) -> bool {
    match presence {
        Some(Presence::Here(_)) => false,
        Some(Presence::Away(since)) => since <= before_micros,
        None => absent_for.is_some_and(|span| span >= ABSENCE_MIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minion_of_salt_has_the_time_that_it_takes_to_connect_again() {
        let absent = |seconds| Some(Duration::from_secs(seconds));
        // `recon_default` and `recon_max`, and as much again by the library.
        for seconds in [0, 2, 5, 22] {
            assert!(!is_gone(None, absent(seconds), u64::MAX), "{seconds} s");
        }
        assert!(is_gone(None, absent(30), 0));
        // While a connection may be its own nothing is known.
        assert!(!is_gone(None, None, u64::MAX));
        // Who has shown itself is judged by that alone.
        assert!(!is_gone(Some(Presence::Here(1)), absent(99), u64::MAX));
        assert!(!is_gone(Some(Presence::Away(7)), absent(99), 6));
        assert!(is_gone(Some(Presence::Away(7)), None, 7));
    }

    fn id(text: &str) -> MinionId {
        MinionId::parse(text).unwrap()
    }

    #[test]
    fn changes_are_noted_once() {
        let mut roster = Roster::new(10);
        // Who was never here is not away.
        assert!(!roster.record(&id("web1"), false, 1));
        assert_eq!(roster.presence(&id("web1")), None);
        assert!(roster.record(&id("web1"), true, 2));
        assert!(!roster.record(&id("web1"), true, 3));
        assert_eq!(roster.presence(&id("web1")), Some(Presence::Here(2)));
        assert!(roster.record(&id("web1"), false, 4));
        assert!(!roster.record(&id("web1"), false, 5));
        assert_eq!(roster.presence(&id("web1")), Some(Presence::Away(4)));
        roster.forget_away(&id("web1"));
        assert_eq!(roster.presence(&id("web1")), None);
        // Who is here is not forgotten by what comes from elsewhere.
        assert!(roster.record(&id("web1"), true, 6));
        roster.forget_away(&id("web1"));
        assert_eq!(roster.presence(&id("web1")), Some(Presence::Here(6)));
    }

    #[test]
    fn many_names_drive_nobody_out_who_is_here() {
        let mut roster = Roster::new(2);
        roster.record(&id("a"), true, 1);
        roster.record(&id("b"), true, 1);
        roster.record(&id("b"), false, 2);
        assert!(roster.record(&id("c"), true, 3));
        assert!(!roster.record(&id("d"), true, 4));
        assert_eq!(roster.presence(&id("a")), Some(Presence::Here(1)));
        assert_eq!(roster.presence(&id("b")), None);
    }
}
