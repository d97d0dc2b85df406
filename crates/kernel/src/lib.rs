//! The kernel's settings and modules, the devices that it shows, and the labels of
//! SELinux.
//!
//! Invariant: every change of the system is made by a program that
//! `halite_call::host` runs, or to a file below its root.

mod kernelpkg;
mod kmod;
mod selinux;
mod smbios;
mod states;
mod sysctl;
mod sysfs;
mod udev;

use halite_call::Module;

/// The execution modules.
pub static MODULES: &[Module] = &[
    kernelpkg::MODULE,
    kmod::MODULE,
    selinux::MODULE,
    smbios::MODULE,
    sysctl::MODULE,
    sysfs::MODULE,
    udev::MODULE,
];

/// The state modules.
pub static STATES: &[Module] = &[
    states::kmod::MODULE,
    states::selinux::MODULE,
    states::sysctl::MODULE,
    states::sysfs::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
