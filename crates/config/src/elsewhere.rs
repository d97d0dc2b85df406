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
    /// Whether a value has the shape.
    pub(crate) fits: fn(&Node) -> bool,
    /// What it may be, for people.
    pub(crate) allowed: &'static str,
    /// The part of a value that does not have the shape.
    pub(crate) fault: fn(&Node) -> &Node,
}

/// The shape of a type, or nothing.
const fn shape_of<T: Setting>() -> Shape {
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
    ("fips_mode", shape_of::<bool>()),
    ("git_pillar_base", shape_of::<String>()),
    ("git_pillar_branch", shape_of::<String>()),
    ("git_pillar_depth", shape_of::<AnyValue>()),
    ("git_pillar_env", shape_of::<String>()),
    ("git_pillar_fallback", shape_of::<String>()),
    ("git_pillar_global_lock", shape_of::<bool>()),
    ("git_pillar_includes", shape_of::<bool>()),
    ("git_pillar_insecure_auth", shape_of::<bool>()),
    ("git_pillar_passphrase", shape_of::<String>()),
    ("git_pillar_password", shape_of::<String>()),
    ("git_pillar_privkey", shape_of::<String>()),
    ("git_pillar_proxy", shape_of::<String>()),
    ("git_pillar_pubkey", shape_of::<String>()),
    ("git_pillar_ref_types", shape_of::<OneOrMany>()),
    ("git_pillar_refspecs", shape_of::<OneOrMany>()),
    ("git_pillar_root", shape_of::<String>()),
    ("git_pillar_ssl_verify", shape_of::<bool>()),
    ("git_pillar_update_interval", shape_of::<Count>()),
    ("git_pillar_user", shape_of::<String>()),
    ("git_pillar_verify_config", shape_of::<bool>()),
    ("git_pillar_verify_signatures", shape_of::<OneOrMany>()),
    ("gitfs_base", shape_of::<String>()),
    ("gitfs_depth", shape_of::<Count>()),
    ("gitfs_disable_saltenv_mapping", shape_of::<bool>()),
    ("gitfs_env_blacklist", shape_of::<OneOrMany>()),
    ("gitfs_env_whitelist", shape_of::<OneOrMany>()),
    ("gitfs_fallback", shape_of::<String>()),
    ("gitfs_global_lock", shape_of::<bool>()),
    ("gitfs_insecure_auth", shape_of::<bool>()),
    ("gitfs_mountpoint", shape_of::<String>()),
    ("gitfs_passphrase", shape_of::<String>()),
    ("gitfs_password", shape_of::<String>()),
    ("gitfs_privkey", shape_of::<PathBuf>()),
    ("gitfs_provider", shape_of::<String>()),
    ("gitfs_proxy", shape_of::<String>()),
    ("gitfs_pubkey", shape_of::<PathBuf>()),
    ("gitfs_ref_types", shape_of::<OneOrMany>()),
    ("gitfs_refspecs", shape_of::<OneOrMany>()),
    ("gitfs_remotes", shape_of::<AnyValue>()),
    ("gitfs_root", shape_of::<String>()),
    ("gitfs_saltenv", shape_of::<AnyValue>()),
    ("gitfs_saltenv_blacklist", shape_of::<OneOrMany>()),
    ("gitfs_saltenv_whitelist", shape_of::<OneOrMany>()),
    ("gitfs_ssl_verify", shape_of::<bool>()),
    ("gitfs_update_interval", shape_of::<Count>()),
    ("gitfs_user", shape_of::<String>()),
    ("gitfs_verify_signatures", shape_of::<OneOrMany>()),
    ("gpg_decrypt_must_succeed", shape_of::<bool>()),
    ("gpg_keydir", shape_of::<String>()),
    ("http_connect_timeout", shape_of::<Seconds>()),
    ("http_request_timeout", shape_of::<Seconds>()),
    ("module_dirs", shape_of::<OneOrMany>()),
    ("outputter_dirs", shape_of::<OneOrMany>()),
    ("python_fallback", shape_of::<bool>()),
    ("renderer_blacklist", shape_of::<OneOrMany>()),
    ("renderer_whitelist", shape_of::<OneOrMany>()),
    ("utils_dirs", shape_of::<OneOrMany>()),
];

const MASTER: &[(&str, Shape)] = &[
    ("cache", shape_of::<String>()),
    ("eauth_tokens", shape_of::<String>()),
    ("eauth_tokens.cache_driver", shape_of::<String>()),
    ("enforce_mine_cache", shape_of::<bool>()),
    ("keys.cache_driver", shape_of::<String>()),
    ("pillar_cache", shape_of::<bool>()),
    ("pillar_cache_backend", shape_of::<String>()),
    ("pillar_cache_ttl", shape_of::<Count>()),
    ("queue_dirs", shape_of::<OneOrMany>()),
    ("runner_dirs", shape_of::<OneOrMany>()),
    ("salt_cp_chunk_size", shape_of::<Count>()),
    ("sharedsecret", shape_of::<String>()),
    ("syndic_wait", shape_of::<Seconds>()),
    ("top_dirs", shape_of::<OneOrMany>()),
    ("wheel_dirs", shape_of::<OneOrMany>()),
];

const MINION: &[(&str, Shape)] = &[
    ("aptpkg_refresh_db_timeout", shape_of::<Seconds>()),
    ("autoload_dynamic_modules", shape_of::<bool>()),
    ("backup_mode", shape_of::<String>()),
    ("bootstrap_script_url", shape_of::<String>()),
    ("clean_dynamic_modules", shape_of::<bool>()),
    ("cmd_safe", shape_of::<bool>()),
    ("default_top", shape_of::<String>()),
    ("disabled_requisites", shape_of::<OneOrMany>()),
    ("env_order", shape_of::<OneOrMany>()),
    ("extension_modules", shape_of::<PathBuf>()),
    ("extmod_blacklist", shape_of::<Map>()),
    ("extmod_whitelist", shape_of::<Map>()),
    ("failhard", shape_of::<bool>()),
    ("global_state_conditions", shape_of::<Map>()),
    ("grains_dirs", shape_of::<OneOrMany>()),
    ("local_state", shape_of::<String>()),
    ("lock_saltenv", shape_of::<bool>()),
    ("master_tops_first", shape_of::<bool>()),
    ("minion_restart_command", shape_of::<OneOrMany>()),
    ("module_executors", shape_of::<OneOrMany>()),
    ("no_proxy", shape_of::<OneOrMany>()),
    ("providers", shape_of::<Map>()),
    ("proxy_host", shape_of::<String>()),
    ("proxy_password", shape_of::<String>()),
    ("proxy_port", shape_of::<Count>()),
    ("proxy_username", shape_of::<String>()),
    ("render_dirs", shape_of::<OneOrMany>()),
    ("renderer", shape_of::<String>()),
    ("returner_dirs", shape_of::<OneOrMany>()),
    ("splaytime", shape_of::<Seconds>()),
    ("state_aggregate", shape_of::<AnyValue>()),
    ("state_auto_order", shape_of::<bool>()),
    ("state_events", shape_of::<bool>()),
    ("state_max_parallel", shape_of::<Count>()),
    ("state_queue", shape_of::<AnyValue>()),
    ("state_top", shape_of::<String>()),
    ("state_top_saltenv", shape_of::<String>()),
    ("states_dirs", shape_of::<OneOrMany>()),
    ("test", shape_of::<bool>()),
    ("top_file_merging_strategy", shape_of::<String>()),
    ("use_master_when_local", shape_of::<bool>()),
    ("venv_bin", shape_of::<String>()),
];

/// What an option may be that code outside this crate heeds.
pub(crate) fn shape(side: Side, name: &str) -> Option<&'static Shape> {
    let mut all = shapes(side);
    all.find(|(known, _)| *known == name)
        .map(|(_, shape)| shape)
}

/// The names of all such options of a side.
#[cfg(test)]
pub(crate) fn names(side: Side) -> impl Iterator<Item = &'static str> {
    shapes(side).map(|(name, _)| *name)
}

fn shapes(side: Side) -> impl Iterator<Item = &'static (&'static str, Shape)> {
    let of_side = match side {
        Side::Master => MASTER,
        Side::Minion => MINION,
    };
    BOTH.iter().chain(of_side)
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
