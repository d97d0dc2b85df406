//! Every scenario gives what real Salt gave (`common`).
#![allow(clippy::unwrap_used)]

// One player of scenarios serves both families.
#[path = "../../system/tests/common/mod.rs"]
mod common;

use halite_modules::{Module, Registry};

static EXEC: &[&[Module]] = &[Registry::core_modules(), halite_network::MODULES];
static STATES: &[&[Module]] = &[halite_network::STATES];
static REGISTRY: Registry = Registry::new(EXEC, STATES);

/// Calls whose outcome is not Salt's, each with its reason.
const DIFFERENCES: &[(&str, usize)] = &[
    // A domain that is a text is not written letter by letter.
    ("redhats", 9),
    ("redhats", 66),
    // Numbers may be numbers, and are written.
    ("bonds", 7),
    ("bonds", 62),
    // Nothing is asked whose answer does not matter.
    ("firewallds", 64),
    ("firewallds", 65),
    ("firewallds", 66),
    ("firewallds", 67),
    ("firewallds", 69),
    ("firewallds", 70),
    ("firewallds", 71),
    ("firewallds", 72),
    ("firewallds", 77),
    ("firewallds", 101),
    ("firewallds", 106),
    ("firewallds", 107),
    ("firewallds", 108),
    ("firewallds", 133),
    // What was there comes first, then what is added: sets have no order.
    ("firewallds", 78),
    ("firewallds", 84),
    ("firewallds", 88),
    // Test mode makes no service and reloads nothing.
    ("firewallds", 98),
    ("firewallds", 99),
    ("firewallds", 125),
    ("firewallds", 127),
    // What is wrong is told.
    ("firewallds", 134),
    // The version has no comma; what a set has is not read to add to it.
    ("ipsets", 0),
    ("ipsets", 39),
    ("ipsets", 40),
    ("ipsets", 42),
    ("ipsets", 48),
    ("ipsets", 82),
    ("ipsets", 83),
    // The line that is written, in test mode too.
    ("interfaces", 27),
    // A file that does not hold rules yet is written.
    ("iptables_states", 48),
    // The listing is read once.
    ("nftables", 46),
    ("nftables", 47),
    ("nftables", 65),
    // The policy is found.
    ("nftables", 62),
    ("nftables", 63),
    // A rule is deleted by its handle, not by a map with it.
    ("nftables", 64),
    ("nftables_states", 26),
    // Rules with a set of several elements are found.
    ("nftables_states", 15),
    ("nftables_states", 19),
    // A chain can be removed.
    ("nftables_states", 39),
];

#[test]
fn scenarios_come_out_as_with_salt() {
    common::assert_as_recorded(env!("CARGO_MANIFEST_DIR"), &REGISTRY, DIFFERENCES);
}
