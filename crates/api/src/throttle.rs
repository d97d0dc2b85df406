//! How often logins may fail.
//!
//! An address, or a /64 of IPv6, that has failed too often with one name, or with
//! any, is refused without asking the master, until the period over which failures
//! are counted has passed. Invariant: the memory is bounded, and a correct password
//! does not reset the count.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_transport::fleet::Origin;

use crate::limits::{FAILURES_REMEMBERED_MAX, FAILURES_WITHIN};

/// How many times as many failures an address may have with several names as with one.
const NAMES_FACTOR: u32 = 5;

/// Longer names are cut; they are nobody's.
const NAME_BYTES_MAX: usize = 256;

/// Counts failed logins.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// With one name, within the time; 0 for no limit.
    failures_max: u32,
    counts: Mutex<HashMap<Key, Count>>,
}

type Key = (Origin, Option<String>);

#[derive(Clone, Copy, Debug)]
struct Count {
    failures: u32,
    since: Instant,
}

impl Throttle {
    /// Lets a name fail this often within a minute from one address.
    pub(crate) fn new(failures_max: u32) -> Self {
        Self {
            failures_max,
            counts: Mutex::default(),
        }
    }

    /// How long a login has to wait, if it has to.
    pub(crate) fn wait(&self, from: Origin, name: &str, now: Instant) -> Option<Duration> {
        if self.failures_max == 0 {
            return None;
        }
        let counts = self.lock();
        let waits = [
            (named(from, name), self.failures_max),
            ((from, None), self.failures_max.saturating_mul(NAMES_FACTOR)),
        ]
        .into_iter()
        .filter_map(|(key, max)| {
            let count = counts.get(&key).filter(|count| count.failures >= max)?;
            FAILURES_WITHIN.checked_sub(now.saturating_duration_since(count.since))
        });
        waits.max().filter(|wait| !wait.is_zero())
    }

    /// Records a failed login.
    pub(crate) fn failed(&self, from: Origin, name: &str, now: Instant) {
        if self.failures_max == 0 {
            return;
        }
        let mut counts = self.lock();
        for key in [named(from, name), (from, None)] {
            if counts.len() >= FAILURES_REMEMBERED_MAX && !counts.contains_key(&key) {
                make_room(&mut counts, now);
            }
            let fresh = Count {
                failures: 0,
                since: now,
            };
            let count = counts.entry(key).or_insert(fresh);
            if now.saturating_duration_since(count.since) >= FAILURES_WITHIN {
                *count = fresh;
            }
            count.failures = count.failures.saturating_add(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn named(from: Origin, name: &str) -> Key {
    let name = name.get(..NAME_BYTES_MAX.min(name.len())).unwrap_or("");
    (from, Some(name.to_owned()))
}

fn make_room(counts: &mut HashMap<Key, Count>, now: Instant) {
    counts.retain(|_, count| now.saturating_duration_since(count.since) < FAILURES_WITHIN);
    if counts.len() >= FAILURES_REMEMBERED_MAX
        && let Some(oldest) = counts.iter().min_by_key(|(_, count)| count.since)
    {
        let oldest = oldest.0.clone();
        counts.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::net::{IpAddr, Ipv4Addr};

    const HERE: Origin = Origin::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));
    const THERE: Origin = Origin::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));

    #[test]
    fn a_name_that_fails_waits_and_nobody_else() {
        let throttle = Throttle::new(3);
        let now = Instant::now();
        for _ in 0..3 {
            assert_eq!(throttle.wait(HERE, "ali", now), None);
            throttle.failed(HERE, "ali", now);
        }
        assert_eq!(throttle.wait(HERE, "ali", now), Some(FAILURES_WITHIN));
        assert_eq!(throttle.wait(HERE, "bob", now), None);
        assert_eq!(throttle.wait(THERE, "ali", now), None);
        assert_eq!(throttle.wait(HERE, "ali", now + FAILURES_WITHIN), None);
    }

    #[test]
    fn an_address_that_tries_many_names_waits() {
        let throttle = Throttle::new(3);
        let now = Instant::now();
        for name in 0..15 {
            let name = format!("user{name}");
            assert_eq!(throttle.wait(HERE, &name, now), None);
            throttle.failed(HERE, &name, now);
        }
        assert!(throttle.wait(HERE, "ali", now).is_some());
        assert_eq!(throttle.wait(THERE, "ali", now), None);
        assert_eq!(Throttle::new(0).wait(HERE, "ali", now), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let throttle = Throttle::new(3);
        let now = Instant::now();
        for name in 0..FAILURES_REMEMBERED_MAX + 10 {
            throttle.failed(HERE, &name.to_string(), now);
        }
        assert!(throttle.lock().len() <= FAILURES_REMEMBERED_MAX);
    }
}
