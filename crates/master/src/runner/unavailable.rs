//! Runners of Salt that this master does not have, and the reasons, which the error
//! for each names.

/// What each needs, by runner or by function.
const REASONS: &[(&str, &str)] = &[
    ("asam", NO_SALT),
    ("bgp", NAPALM),
    ("cloud", "Halite has no salt-cloud."),
    (
        "cluster",
        "Every master of a cluster has all data: there are no rings, routes or votes.",
    ),
    ("ddns", NO_SALT),
    ("digicertapi", NO_SALT),
    (
        "http.update_ca_bundle",
        "HTTPS uses the certificates of the system; update those.",
    ),
    ("launchd", NO_SALT),
    ("lxc", NO_SALT),
    (
        "manage.bootstrap",
        "Halite does not install minions over SSH.",
    ),
    ("manage.bootstrap_psexec", "Windows is not supported."),
    (
        "manage.key_regen",
        "It would lock out every minion that is not connected. Run saltutil.regen_keys on the \
         minions and delete their keys with salt-key.",
    ),
    (
        "manage.safe_accept",
        "It asks minions for their fingerprints with salt-ssh, which Halite does not have. Compare \
         `salt-key -f <id>` with `salt-call key.finger` on the minion.",
    ),
    ("nacl", NO_SALT),
    ("net", NAPALM),
    ("pki", "Keys are files, one each, and are not migrated."),
    ("resource", "Halite has no resources."),
    ("smartos_vmadm", NO_SALT),
    ("spacewalk", NO_SALT),
    ("ssh", "Halite has no salt-ssh."),
    ("state.graph", "Use state.show_low_sls of a minion."),
    (
        "state.graph_highstate",
        "Use state.show_lowstate of a minion.",
    ),
    ("thin", "Halite has no salt-ssh."),
    ("vault", NO_SALT),
    ("venafi", NO_SALT),
    ("virt", NO_SALT),
    ("winrepo", "Windows is not supported."),
];

const NAPALM: &str = "It needs napalm.";
const NO_SALT: &str = "Only Salt's own master supports it.";

/// Why the runner is not available, if it is one of Salt's.
pub(super) fn reason(fun: &str) -> Option<&'static str> {
    let module = fun.split_once('.').map_or(fun, |(module, _)| module);
    REASONS
        .iter()
        .find(|(name, _)| *name == fun || *name == module)
        .map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::table::is_ours;

    #[test]
    fn nothing_is_there_and_said_to_be_missing() {
        for (name, why) in REASONS {
            assert!(!is_ours(name), "{name}");
            assert!(why.ends_with('.'), "{name}");
        }
        assert!(reason("resource.list").is_some() && reason("http.update_ca_bundle").is_some());
        assert_eq!((reason("cache.list"), reason("nope.nope")), (None, None));
    }

    /// The runners of Salt 3008.5, as `salt-run -d` names them.
    const SALTS: &str = include_str!("../../tests/data/salt-runners.txt");

    #[test]
    fn every_runner_of_salt_is_there_or_said_to_be_missing() {
        let missing: Vec<&str> = SALTS
            .lines()
            .filter(|name| !is_ours(name) && reason(name).is_none())
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
