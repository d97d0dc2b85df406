//! The execution modules, one file or folder each.

use crate::registry::Module;

mod cmd;
mod config;
mod cp;
mod disk;
mod environ;
mod event;
mod grains;
mod key;
mod log;
mod matching;
mod mine;
mod mounts;
mod network;
mod pillar;
mod saltutil;
mod status;
mod sys;
mod test;
mod versions;

/// All modules, sorted by name.
pub(crate) static MODULES: &[Module] = &[
    cmd::MODULE,
    config::MODULE,
    cp::MODULE,
    disk::MODULE,
    environ::MODULE,
    event::MODULE,
    grains::MODULE,
    key::MODULE,
    log::MODULE,
    matching::MODULE,
    mine::MODULE,
    network::MODULE,
    pillar::MODULE,
    saltutil::MODULE,
    status::MODULE,
    sys::MODULE,
    test::MODULE,
];
