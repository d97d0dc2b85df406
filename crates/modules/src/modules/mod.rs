//! The execution modules, one file or folder each.

use crate::registry::Module;

mod beacons;
mod cmd;
mod config;
mod cp;
mod defaults;
mod disk;
mod environ;
mod event;
mod grains;
mod hashutil;
mod ini;
mod jinja;
mod key;
mod log;
mod matching;
mod mine;
mod mounts;
mod network;
mod pillar;
mod publish;
mod random;
mod saltutil;
pub use saltutil::sync_extensions;
mod schedule;
mod slsutil;
mod status;
mod sys;
mod test;
mod versions;

/// All modules, sorted by name.
pub(crate) static MODULES: &[Module] = &[
    beacons::MODULE,
    cmd::MODULE,
    config::MODULE,
    cp::MODULE,
    defaults::MODULE,
    disk::MODULE,
    environ::MODULE,
    event::MODULE,
    grains::MODULE,
    hashutil::MODULE,
    jinja::MODULE,
    key::MODULE,
    log::MODULE,
    matching::MODULE,
    mine::MODULE,
    network::MODULE,
    pillar::MODULE,
    publish::MODULE,
    random::MODULE,
    saltutil::MODULE,
    schedule::MODULE,
    slsutil::MODULE,
    status::MODULE,
    sys::MODULE,
    test::MODULE,
];
