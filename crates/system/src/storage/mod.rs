//! Disks and what they are divided into: the execution modules `lvm`,
//! `partition`, `smbios`, `sysfs`, `udev` and `xfs`.

mod devices;
pub(crate) mod lvm;
mod lvm_change;
pub(crate) mod partition;
pub(crate) mod smbios;
pub(crate) mod sysfs;
pub(crate) mod udev;
pub(crate) mod xfs;
