//! The core execution modules, one file or folder each: `test`, `cmd`, `grains`,
//! `saltutil`, `sys` and others that belong to no field.
//!
//! Invariant: a function sees the minion only through
//! [`MinionContext`](halite_call::MinionContext).

use halite_call::{Module, Registry};

mod baredoc;
mod beacons;
mod cmd;
mod config;
mod cp;
mod data;
mod defaults;
mod environ;
mod event;
mod grains;
mod hashutil;
mod ini;
mod jinja;
mod key;
mod limits;
mod log;
mod matching;
mod mine;
mod mine_docker;
mod minion;
mod out;
mod pillar;
mod publish;
mod random;
mod ret;
mod salt_version;
mod saltutil;
mod schedule;
mod sdb;
mod slsutil;
mod states;
mod sys;
mod temp;
mod test;
mod versions;

pub use saltutil::sync_extensions;
pub use sys::catalog::{RUNNERS, beginning_with, runners_listed};

/// The execution modules, sorted by name.
pub static MODULES: &[Module] = &[
    baredoc::MODULE,
    beacons::MODULE,
    cmd::MODULE,
    config::MODULE,
    cp::MODULE,
    data::MODULE,
    defaults::MODULE,
    environ::MODULE,
    event::MODULE,
    grains::MODULE,
    hashutil::MODULE,
    jinja::MODULE,
    key::MODULE,
    log::MODULE,
    matching::MODULE,
    mine::MODULE,
    minion::MODULE,
    out::MODULE,
    pillar::MODULE,
    publish::MODULE,
    random::MODULE,
    ret::MODULE,
    salt_version::MODULE,
    saltutil::MODULE,
    schedule::MODULE,
    sdb::MODULE,
    slsutil::MODULE,
    sys::MODULE,
    temp::MODULE,
    test::MODULE,
];

/// The state modules, sorted by name.
pub static STATES: &[Module] = &[
    states::beacon::MODULE,
    states::environ::MODULE,
    states::grains::MODULE,
    states::schedule::MODULE,
];

static CORE: Registry = Registry::new(&[MODULES], &[STATES]);

/// A registry of these modules alone.
pub fn registry() -> &'static Registry {
    &CORE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
        let mut functions = MODULES.iter().flat_map(|module| module.functions);
        assert!(functions.all(|function| registry().get(function.name).is_some()));
    }
}
