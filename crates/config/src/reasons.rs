//! Why an option of Salt is not honoured here, for the warning about it.

use crate::elsewhere;
use crate::known::Side;
use crate::{MasterConfig, MinionConfig};

/// Parts of names, and what is said of the options that begin (or, with a `*`
/// in front, end) so. The first that fits counts.
const REASONS: &[(&str, &str)] = &[
    (
        "*_niceness",
        "the daemon is one process; set the niceness of its service",
    ),
    (
        "reactor_refresh_interval",
        "reactions are not cached, each is rendered again",
    ),
    (
        "maintenance_interval",
        "each periodic task has its own interval",
    ),
    (
        "tcp_master_publish_pull",
        "whoever may publish is root everywhere; publications come by a socket file",
    ),
    ("multiprocessing", "jobs are threads"),
    (
        "return_retry_tries",
        "a return waits until a master has it, or return_spool_age is over",
    ),
    ("master_async_mworker", "there are no such worker processes"),
    ("master_mworker_", "there are no such worker processes"),
    ("worker_pools", "requests have two lanes, one for sign-ins"),
    ("con_cache", "the master knows which minions are connected"),
    ("key_cache", "the master always keeps the list of keys"),
    (
        "eauth_tokens.cluster_id",
        "masters that share tokens need no name for it",
    ),
    (
        "memcache_",
        "there is no cache in between: each request goes to the files or to the server",
    ),
    ("cache_sreqs", "connections are always kept open"),
    ("sock_pool_size", "connections are always kept open"),
    ("ipc_write_buffer", "its queues are counted in messages"),
    (
        "pub_server_write_queue_size",
        "its queues are counted in messages",
    ),
    ("cython_enable", "there is no Cython"),
    ("enable_zip_modules", "modules are files"),
    ("optimization_order", "Halite compiles nothing with Python"),
    (
        "modules_max_memory",
        "there is no loading that this could limit",
    ),
    ("hgfs_", "there is no such backend of files"),
    ("svnfs_", "there is no such backend of files"),
    ("s3fs_", "there is no such backend of files"),
    (
        "minionfs_update_interval",
        "pushed files are checked at each request",
    ),
    ("fileserver_", "files are checked at each request"),
    ("winrepo_", "there is no winrepo"),
    ("ssh_", "there is no salt-ssh"),
    ("thin_", "there is no salt-ssh"),
    ("regen_thin", "there is no salt-ssh"),
    ("min_extra_mods", "there is no salt-ssh"),
    ("enable_ssh_minions", "there is no salt-ssh"),
    (
        "cluster_mode",
        "cluster_id makes a master a member of a cluster",
    ),
    (
        "cluster_encryption_algorithm",
        "masters of a cluster talk over TLS 1.3",
    ),
    (
        "cluster_",
        "a cluster has no leader and holds no votes: any living master serves",
    ),
    ("syndic_", "there is no salt-syndic"),
    ("thorium", "there is no thorium"),
    ("spm_", "there is no spm"),
    ("saltpip_", "Halite has no Python of its own"),
    ("netapi_", "there is no ssh client in salt-api"),
    (
        "rest_",
        "salt-api serves rest_cherrypy; the salt-api of an installed Salt uses it",
    ),
    ("proxy_", "there is no salt-proxy"),
    ("tracing", "there is no such interface"),
    ("ssl", "there is no tcp transport"),
    ("disable_aes_with_tls", "there is no tcp transport"),
    ("tcp_master_workers", "there is no socket between processes"),
    (
        "resolve_dns_fallback",
        "addresses are resolved at each connection",
    ),
    ("discovery", "masters must be named in the configuration"),
    ("update_", "programs are updated by the system's packages"),
    ("archive_jobs", "jobs are deleted when they are old enough"),
    (
        "auth_retries",
        "links to masters recover by themselves, without limit",
    ),
    (
        "auth_safemode",
        "a sign-in that fails never ends the minion",
    ),
    ("restart_on_error", "links to masters recover by themselves"),
    (
        "git_pillar_disable_saltenv_mapping",
        "Salt reads it for pillars, but never acts on it",
    ),
    ("cache_jobs", "a minion's `local_cache` returner keeps jobs"),
    ("id_function", "set `id`, or keep the file minion_id"),
    ("log_fmt_", "log lines name their job anyway"),
    ("master_roots", "orchestrations are in file_roots"),
    ("snapper_", "there is no snapper"),
    ("tcp_", "there is no tcp transport"),
    (
        "use_os_truststore",
        "the system's certificate authorities are used",
    ),
    ("zmq_monitor", "links report their state in the log"),
    (
        "auth_events_pend_autosign_grains",
        "events about pending keys carry no grains",
    ),
    ("auth_mode", "sign-ins are always answered as in mode 1"),
    ("conf_file", "it names the file that is being read"),
    (
        "detect_remote_minions",
        "the master knows connected minions by their links, not by ports",
    ),
    ("remote_minions_port", "see detect_remote_minions"),
    ("dummy_pub", "nothing in Salt reads it"),
    ("disable_returners", "nothing in Salt reads it"),
    ("pass_", "nothing in Salt reads it"),
    ("request_server_aes_session", "nothing in Salt reads it"),
    ("search", "nothing in Salt reads it"),
    ("serial", "messages are always msgpack"),
    (
        "event_match_type",
        "waiting programs name the kind of match",
    ),
    ("features", "the x509 functions are those of x509_v2"),
    ("gpg_cache", "decrypted texts are not cached"),
    ("http_max_body", "the bodies of answers have a fixed limit"),
    ("local", "programs set it themselves"),
    (
        "pillar.cache_driver",
        "cached pillars are kept by each master itself: see pillar_cache_backend",
    ),
    ("pillar_version", "pillars are always sealed for one minion"),
    (
        "publish_drain_timeout",
        "each subscriber has its own queue, bounded by pub_hwm",
    ),
    ("cache", "data is kept in files"),
    ("resource_pillar_key", "there are no resources"),
    ("username", "it is for salt-proxy"),
    ("password", "it is for salt-proxy"),
    (
        "whitelist_state_modules",
        "all states are there; whitelist_modules restricts functions",
    ),
];

/// Why the option is not honoured on that side, where there is more to say
/// than that.
pub(crate) fn why(side: Side, name: &str) -> Option<&'static str> {
    let fits = |part: &str| match part.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name.starts_with(part),
    };
    let (others, of_others) = match side {
        Side::Master => (MinionConfig::HONOURED, "it is for minions only"),
        Side::Minion => (MasterConfig::HONOURED, "it is for masters only"),
    };
    if others.contains(&name) || elsewhere::shape(side.other(), name).is_some() {
        return Some(of_others);
    }
    let mut reasons = REASONS.iter();
    reasons.find(|(part, _)| fits(part)).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    #[test]
    fn each_reason_is_for_an_option_that_is_there() {
        for (part, _) in REASONS {
            let stem = part.trim_start_matches('*');
            assert!(known::any(|name| name.contains(stem)), "{part}");
        }
    }

    #[test]
    fn the_first_that_fits_counts() {
        let tuned = why(Side::Master, "fileserver_update_niceness");
        assert!(tuned.is_some_and(|why| why.starts_with("the daemon is one process")));
        assert!(why(Side::Master, "svnfs_root").is_some_and(|why| why.contains("backend")));
        assert_eq!(why(Side::Master, "worker_threads"), None);
        let of_masters = why(Side::Minion, "auto_accept");
        assert!(of_masters.is_some_and(|why| why.contains("masters only")));
    }
}
