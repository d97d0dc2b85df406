//! Every scenario gives what real Salt gave (`common`).
#![allow(clippy::unwrap_used)]

mod common;

use halite_modules::{Module, Registry};

static EXEC: &[&[Module]] = &[Registry::core_modules(), halite_system::MODULES];
static STATES: &[&[Module]] = &[halite_system::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

/// Calls whose outcome is not Salt's, each with its reason.
const DIFFERENCES: &[(&str, usize)] = &[
    // Permissions of others are set, and those that are a digit.
    ("acls", 16),
    ("acls", 31),
    ("acls", 36),
    // The owner's entry is found where it has no name.
    ("acls", 50),
    // No empty name goes to setfacl, nothing is set twice or removed that is
    // not there, and with recurse what is below is looked at.
    ("acls", 53),
    ("acls", 56),
    ("acls", 58),
    ("acls", 67),
    ("acls", 73),
    ("acls", 78),
    ("acls", 82),
    // Passwords go in over the input.
    ("apaches", 72),
    ("apaches", 82),
    // The same.
    ("copies", 2),
    ("copies", 4),
    ("copies", 5),
    ("copies", 6),
    ("copies", 7),
    ("copies", 17),
    ("copies", 18),
    ("copies", 20),
    ("copies", 22),
    // A number that is none is the comment, not a list of changes that failed.
    ("groups", 22),
    // Nothing outside /sys is read.
    ("odds", 5),
    // Passwords go in over the input.
    ("odds", 24),
    ("odds", 25),
    ("odds", 28),
    ("odds", 29),
    ("odds", 33),
    ("odds", 34),
    ("odds", 35),
    // A value that holds a `=` is not cut there.
    ("services", 12),
    // A job that is removed is removed; a number may be text; without jobs
    // there is nothing to remove.
    ("settings", 11),
    ("settings", 13),
    ("settings", 20),
    // What fails is said to fail.
    ("settings", 30),
    ("settings", 79),
    // The program is called warnquota.
    ("settings", 64),
    // Limits that are not named stay; what is wrong is said before a report.
    ("settings", 65),
    ("settings", 69),
    ("settings", 70),
    // A block whose name has a star is changed, not written a second time.
    ("tools", 46),
    // A group may be there without devices, test mode changes nothing, and a
    // number may be text.
    ("volumes", 12),
    ("volumes", 20),
    ("volumes", 37),
    // What is not made is not waited for.
    ("volumes", 70),
    // Arrays that are stopped are; nothing is wiped where nothing is a member.
    ("volumes", 97),
    ("volumes", 98),
    // What was added before a failure is a change.
    ("volumes", 127),
];

#[test]
fn scenarios_come_out_as_with_salt() {
    common::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY, DIFFERENCES);
}

#[test]
fn real_tools_are_read_as_salt_reads_them() {
    common::transcript::assert_transcripts(env!("CARGO_MANIFEST_DIR"), &REGISTRY);
}

#[test]
fn the_recorder_has_its_calls_played() {
    common::transcript::play_here(&REGISTRY);
}
