//! Disks, file systems, mounts, quotas and access lists.
//!
//! Invariant: every change of the system is made by a program that
//! `halite_call::host` runs, or to a file below its root.

mod acl;
mod devices;
mod disk;
mod lvm;
mod lvm_change;
mod mount;
mod nfs3;
mod partition;
mod quota;
mod raid;
mod states;
mod xfs;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[
    acl::MODULE,
    disk::MODULE,
    lvm::MODULE,
    mount::MODULE,
    nfs3::MODULE,
    partition::MODULE,
    quota::MODULE,
    raid::MODULE,
    xfs::MODULE,
];

/// The state modules.
pub static STATES: &[Module] = &[
    states::acl::MODULE,
    states::blockdev::MODULE,
    states::lvm::MODULE,
    states::mount::MODULE,
    states::quota::MODULE,
    states::raid::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
