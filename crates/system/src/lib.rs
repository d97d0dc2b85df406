//! The functions and states of services, users, schedules of the system and its settings.
//!
//! Invariant: whatever changes the system goes through a program that
//! `halite_call::host` runs, or a file below its root.

mod accounts;
mod aliases;
mod alternatives;
mod apache;
mod computer;
mod cron;
mod dns;
#[doc(hidden)]
pub mod fuzzing;
mod hosts;
mod http;
mod ini;
mod kmod;
mod locale;
mod mount;
mod ps;
mod selinux;
mod service;
mod ssh;
mod states;
mod storage;
mod sysctl;
mod timezone;
mod tools;
mod zone;

use halite_call::Module;

/// The execution modules.
pub const MODULES: &[Module] = &[
    tools::acl::MODULE,
    aliases::MODULE,
    alternatives::MODULE,
    apache::MODULE,
    tools::at::MODULE,
    cron::MODULE,
    dns::DIG,
    dns::DNSUTIL,
    accounts::group::MODULE,
    hosts::MODULE,
    http::MODULE,
    ini::MODULE,
    tools::kernelpkg::MODULE,
    tools::keyboard::MODULE,
    kmod::MODULE,
    locale::MODULE,
    tools::logrotate::MODULE,
    storage::lvm::MODULE,
    mount::MODULE,
    tools::nfs3::MODULE,
    storage::partition::MODULE,
    ps::MODULE,
    storage::quota::MODULE,
    storage::raid::MODULE,
    tools::rsync::MODULE,
    selinux::MODULE,
    service::MODULE,
    accounts::shadow::MODULE,
    storage::smbios::MODULE,
    ssh::MODULE,
    sysctl::MODULE,
    storage::sysfs::MODULE,
    computer::MODULE,
    timezone::MODULE,
    storage::udev::MODULE,
    accounts::user::MODULE,
    tools::webutil::MODULE,
    storage::xfs::MODULE,
];

/// The state modules.
pub const STATES: &[Module] = &[
    states::acl::MODULE,
    states::alias::MODULE,
    states::alternatives::MODULE,
    states::apache::CONFIGFILE,
    states::apache::CONF,
    states::apache::MODULE,
    states::apache::SITE,
    states::at::MODULE,
    states::beacon::MODULE,
    states::blockdev::MODULE,
    states::cron::MODULE,
    states::measures::DISK,
    states::environ::MODULE,
    states::grains::MODULE,
    states::group::MODULE,
    states::host::MODULE,
    states::http::MODULE,
    states::ini::MODULE,
    states::keyboard::MODULE,
    states::kmod::MODULE,
    states::locale::MODULE,
    states::logrotate::MODULE,
    states::repeat::MODULE,
    states::lvm::MODULE,
    states::mount::MODULE,
    states::process::MODULE,
    states::quota::MODULE,
    states::raid::MODULE,
    states::rsync::MODULE,
    states::schedule::MODULE,
    states::selinux::MODULE,
    states::service::MODULE,
    states::ssh_auth::MODULE,
    states::ssh_known_hosts::MODULE,
    states::stateconf::MODULE,
    states::measures::STATUS,
    states::sysctl::MODULE,
    states::sysfs::MODULE,
    states::timezone::MODULE,
    states::user::MODULE,
    states::webutil::MODULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_sound() {
        assert_eq!(Module::faults(&[MODULES, STATES]), Vec::<String>::new());
    }
}
