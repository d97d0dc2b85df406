//! The programs without which modules of this build are not available: those that
//! Salt's modules look for, if ours need them too.
//!
//! Not here: `gem`, for which Salt looks for no program either; `nfs3`, which here
//! does not need `showmount`; and `smbios`, which has no states, accepts either of
//! two programs, and reports a missing one when it is called.

use halite_call::Requirement;

/// In the order of the modules' names.
pub(crate) static REQUIREMENTS: &[Requirement] = &[
    Requirement::new("acl", &["getfacl", "setfacl"]).states_say(
        "The linux_acl state cannot be loaded: the getfacl or setfacl binary is not in the path.",
    ),
    Requirement::new("at", &["at"]),
    Requirement::new("cron", &["crontab"]),
    Requirement::new("debconf", &["debconf-get-selections"]),
    Requirement::new("dig", &["dig"]),
    Requirement::new("firewalld", &["firewall-cmd"])
        .states_say("firewall-cmd is not available, firewalld is probably not installed."),
    Requirement::new("git", &["git"]),
    Requirement::new("ipset", &["ipset"]),
    Requirement::new("iptables", &["iptables"]),
    Requirement::new("lvm", &["lvm"]).states_say("lvm command not found"),
    Requirement::new("nftables", &["nft"]),
    Requirement::new("npm", &["npm"]),
    Requirement::new("partition", &["parted", "lsblk", "partprobe"]),
    Requirement::new("quota", &["setquota"]),
    Requirement::new("raid", &["mdadm"]).states_say("Unable to locate command: mdadm"),
    Requirement::new("rsync", &["rsync"]),
    Requirement::new("selinux", &["semanage", "setsebool", "semodule"]),
    Requirement::new("webutil", &["htpasswd"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_there_and_in_order() {
        let registry = crate::registry();
        let mut last = "";
        for requirement in REQUIREMENTS {
            let name = requirement.module;
            assert!(last < name, "{last} stands before {name}");
            assert!(
                registry.module(name).is_some() || registry.state_module(name).is_some(),
                "{name}"
            );
            last = name;
        }
    }
}
