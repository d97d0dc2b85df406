//! Programs of a system that have a module of their own: `at`, `keyboard`,
//! `kernelpkg`, `logrotate`, `nfs3`, `rsync` and `webutil`.

pub(crate) mod acl;
pub(crate) mod at;
pub(crate) mod kernelpkg;
pub(crate) mod keyboard;
pub(crate) mod logrotate;
pub(crate) mod nfs3;
pub(crate) mod rsync;
pub(crate) mod webutil;
