//! The execution modules, one file or folder each.

use crate::registry::Module;

mod cmd;
mod config;
mod event;
mod grains;
mod key;
mod mine;
mod pillar;
mod sys;
mod test;
mod versions;

/// All modules, sorted by name.
pub(crate) static MODULES: &[Module] = &[
    cmd::MODULE,
    config::MODULE,
    event::MODULE,
    grains::MODULE,
    key::MODULE,
    mine::MODULE,
    pillar::MODULE,
    sys::MODULE,
    test::MODULE,
];
