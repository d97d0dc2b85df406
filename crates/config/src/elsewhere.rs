//! Options that are no fields here: their users (functions, state runs, renderers,
//! login methods) read them from the merged options when they need them. Their
//! values are checked with all others.
//!
//! Invariant: a name is listed here only while code outside this crate reads it.

use std::path::PathBuf;

use halite_proto::Map;
use halite_yaml::Node;

use crate::known::Side;
use crate::setting::{AnyValue, Count, OneOrMany, Seconds, Setting};

/// What an option may be.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Whether a value is one.
    pub(crate) fits: fn(&Node) -> bool,
    /// What it may be, for people.
    pub(crate) allowed: &'static str,
    /// Where a value that is none is wrong.
    pub(crate) fault: fn(&Node) -> &Node,
}

/// The shape of a type, or nothing.
const fn of<T: Setting>() -> Shape {
    Shape {
        fits: fits::<T>,
        allowed: T::ALLOWED,
        fault: T::fault,
    }
}

fn fits<T: Setting>(node: &Node) -> bool {
    Option::<T>::read(node).is_some()
}

/// Of masters and minions: templates, pillars and users' Python code are read
/// on both.
const BOTH: &[(&str, Shape)] = &[
    ("fips_mode", of::<bool>()),
    ("git_pillar_base", of::<String>()),
    ("git_pillar_branch", of::<String>()),
    ("git_pillar_depth", of::<AnyValue>()),
    ("git_pillar_env", of::<String>()),
    ("git_pillar_fallback", of::<String>()),
    ("git_pillar_global_lock", of::<bool>()),
    ("git_pillar_includes", of::<bool>()),
    ("git_pillar_insecure_auth", of::<bool>()),
    ("git_pillar_passphrase", of::<String>()),
    ("git_pillar_password", of::<String>()),
    ("git_pillar_privkey", of::<String>()),
    ("git_pillar_proxy", of::<String>()),
    ("git_pillar_pubkey", of::<String>()),
    ("git_pillar_ref_types", of::<OneOrMany>()),
    ("git_pillar_refspecs", of::<OneOrMany>()),
    ("git_pillar_root", of::<String>()),
    ("git_pillar_ssl_verify", of::<bool>()),
    ("git_pillar_update_interval", of::<Count>()),
    ("git_pillar_user", of::<String>()),
    ("git_pillar_verify_config", of::<bool>()),
    ("git_pillar_verify_signatures", of::<OneOrMany>()),
    ("gitfs_base", of::<String>()),
    ("gitfs_depth", of::<Count>()),
    ("gitfs_disable_saltenv_mapping", of::<bool>()),
    ("gitfs_env_blacklist", of::<OneOrMany>()),
    ("gitfs_env_whitelist", of::<OneOrMany>()),
    ("gitfs_fallback", of::<String>()),
    ("gitfs_global_lock", of::<bool>()),
    ("gitfs_insecure_auth", of::<bool>()),
    ("gitfs_mountpoint", of::<String>()),
    ("gitfs_passphrase", of::<String>()),
    ("gitfs_password", of::<String>()),
    ("gitfs_privkey", of::<PathBuf>()),
    ("gitfs_provider", of::<String>()),
    ("gitfs_proxy", of::<String>()),
    ("gitfs_pubkey", of::<PathBuf>()),
    ("gitfs_ref_types", of::<OneOrMany>()),
    ("gitfs_refspecs", of::<OneOrMany>()),
    ("gitfs_remotes", of::<AnyValue>()),
    ("gitfs_root", of::<String>()),
    ("gitfs_saltenv", of::<AnyValue>()),
    ("gitfs_saltenv_blacklist", of::<OneOrMany>()),
    ("gitfs_saltenv_whitelist", of::<OneOrMany>()),
    ("gitfs_ssl_verify", of::<bool>()),
    ("gitfs_update_interval", of::<Count>()),
    ("gitfs_user", of::<String>()),
    ("gitfs_verify_signatures", of::<OneOrMany>()),
    ("gpg_decrypt_must_succeed", of::<bool>()),
    ("gpg_keydir", of::<String>()),
    ("http_connect_timeout", of::<Seconds>()),
    ("http_request_timeout", of::<Seconds>()),
    ("module_dirs", of::<OneOrMany>()),
    ("outputter_dirs", of::<OneOrMany>()),
    ("python_fallback", of::<bool>()),
    ("renderer_blacklist", of::<OneOrMany>()),
    ("renderer_whitelist", of::<OneOrMany>()),
    ("utils_dirs", of::<OneOrMany>()),
];

const MASTER: &[(&str, Shape)] = &[
    ("cache", of::<String>()),
    ("eauth_tokens", of::<String>()),
    ("eauth_tokens.cache_driver", of::<String>()),
    ("enforce_mine_cache", of::<bool>()),
    ("keys.cache_driver", of::<String>()),
    ("pillar_cache", of::<bool>()),
    ("pillar_cache_backend", of::<String>()),
    ("pillar_cache_ttl", of::<Count>()),
    ("queue_dirs", of::<OneOrMany>()),
    ("runner_dirs", of::<OneOrMany>()),
    ("salt_cp_chunk_size", of::<Count>()),
    ("sharedsecret", of::<String>()),
    ("syndic_wait", of::<Seconds>()),
    ("top_dirs", of::<OneOrMany>()),
    ("wheel_dirs", of::<OneOrMany>()),
];

const MINION: &[(&str, Shape)] = &[
    ("aptpkg_refresh_db_timeout", of::<Seconds>()),
    ("autoload_dynamic_modules", of::<bool>()),
    ("backup_mode", of::<String>()),
    ("bootstrap_script_url", of::<String>()),
    ("clean_dynamic_modules", of::<bool>()),
    ("cmd_safe", of::<bool>()),
    ("default_top", of::<String>()),
    ("disabled_requisites", of::<OneOrMany>()),
    ("env_order", of::<OneOrMany>()),
    ("extension_modules", of::<PathBuf>()),
    ("extmod_blacklist", of::<Map>()),
    ("extmod_whitelist", of::<Map>()),
    ("failhard", of::<bool>()),
    ("global_state_conditions", of::<Map>()),
    ("grains_dirs", of::<OneOrMany>()),
    ("local_state", of::<String>()),
    ("lock_saltenv", of::<bool>()),
    ("master_tops_first", of::<bool>()),
    ("minion_restart_command", of::<OneOrMany>()),
    ("module_executors", of::<OneOrMany>()),
    ("providers", of::<Map>()),
    ("proxy_host", of::<String>()),
    ("proxy_password", of::<String>()),
    ("proxy_port", of::<Count>()),
    ("proxy_username", of::<String>()),
    ("render_dirs", of::<OneOrMany>()),
    ("renderer", of::<String>()),
    ("returner_dirs", of::<OneOrMany>()),
    ("splaytime", of::<Seconds>()),
    ("state_aggregate", of::<AnyValue>()),
    ("state_auto_order", of::<bool>()),
    ("state_events", of::<bool>()),
    ("state_max_parallel", of::<Count>()),
    ("state_queue", of::<AnyValue>()),
    ("state_top", of::<String>()),
    ("state_top_saltenv", of::<String>()),
    ("states_dirs", of::<OneOrMany>()),
    ("test", of::<bool>()),
    ("top_file_merging_strategy", of::<String>()),
    ("use_master_when_local", of::<bool>()),
    ("venv_bin", of::<String>()),
];

/// What an option may be that code outside this crate heeds.
pub(crate) fn shape(side: Side, name: &str) -> Option<&'static Shape> {
    let of_side = match side {
        Side::Master => MASTER,
        Side::Minion => MINION,
    };
    let mut all = BOTH.iter().chain(of_side);
    all.find(|(known, _)| *known == name)
        .map(|(_, shape)| shape)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// All of the source beside this crate, in one text.
    fn source(dir: &Path, text: &mut String) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                source(&path, text);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn what_is_said_to_be_read_is_read() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut text = String::new();
        for entry in fs::read_dir(crates).unwrap() {
            let path = entry.unwrap().path();
            if path.join("src").is_dir() && !path.ends_with("config") {
                source(&path.join("src"), &mut text);
            }
        }
        // Names of a family that are put together from their parts.
        let made = |name: &str| {
            let stem = name.strip_suffix("_dirs").map(|stem| format!("\"{stem}"));
            let families = ["gitfs_", "git_pillar_"];
            let of_remotes = families.iter().find_map(|family| name.strip_prefix(family));
            let of_remotes = of_remotes.map(|part| format!("\"{part}\""));
            let parts = stem.into_iter().chain(of_remotes);
            parts.into_iter().any(|part| text.contains(&part))
        };
        for (name, _) in [BOTH, MASTER, MINION].concat() {
            let quoted = format!("\"{name}\"");
            assert!(text.contains(&quoted) || made(name), "nobody reads {name}");
        }
    }

    #[test]
    fn each_name_stands_once() {
        for side in [MASTER, MINION] {
            let all = [BOTH, side].concat();
            let mut all: Vec<&str> = all.into_iter().map(|(name, _)| name).collect();
            all.sort_unstable();
            let count = all.len();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
