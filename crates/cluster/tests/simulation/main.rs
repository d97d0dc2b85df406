//! Seeded histories of a cluster: masters decide about keys, are cut off from each
//! other, restart, have wrong clocks, and their messages are lost, duplicated and
//! delayed. In each, no master accepts a key that it knows to be revoked, unless
//! somebody who also knew of it has accepted it again; and when the cuts are
//! repaired, all masters have the same registers.
//!
//! `HALITE_HISTORIES` sets how many histories are run, `HALITE_SEED` the first.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod world;

use world::World;

/// As many as take a few seconds in a debug build.
const HISTORIES: u64 = 400;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn histories_converge_and_no_revoked_key_comes_back() {
    let histories = number("HALITE_HISTORIES").unwrap_or(HISTORIES);
    let first = number("HALITE_SEED").unwrap_or(1);
    let mut seen = world::Seen::default();
    for seed in first..first + histories {
        let mut world = World::new(seed);
        world.live();
        world.mend_and_agree();
        seen.add(&world);
    }
    // The histories are about something.
    assert!(seen.revocations > histories, "{seen:?}");
    assert!(
        seen.lost > histories && seen.restarts * 2 > histories,
        "{seen:?}"
    );
    assert!(
        seen.undone > 0 && seen.accepted > 0 && seen.forgotten > 0,
        "{seen:?}"
    );
}
