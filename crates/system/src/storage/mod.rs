//! Disks and what they are divided into: the execution modules `lvm`,
//! `partition`, `quota`, `raid`, `smbios`, `sysfs`, `udev` and `xfs`.

mod devices;
pub(crate) mod lvm;
mod lvm_change;
pub(crate) mod partition;
pub(crate) mod quota;
pub(crate) mod raid;
pub(crate) mod smbios;
pub(crate) mod sysfs;
pub(crate) mod udev;
pub(crate) mod xfs;

pub(crate) use devices::{is_block, real_path};
