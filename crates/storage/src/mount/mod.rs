//! File systems: the execution module `mount`.

mod automaster;
mod cache;
mod current;
mod fstab;
mod functions;
mod path;
mod swap;

pub(crate) use current::{Active, at, mount, mount_at, options, remount, umount};
pub(crate) use fstab::{in_fstab, rm_fstab, set_fstab};
pub(crate) use functions::MODULE;
