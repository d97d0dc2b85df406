//! Options that have no type here: whoever heeds them - functions, state runs,
//! renderers, ways to log in - reads them from the merged options when it is
//! their turn.
//!
//! Invariant: a name stands here only while code outside this crate reads it.

use crate::known::Side;

/// Of masters and minions: templates, pillars and users' Python code are read
/// on both.
const BOTH: &[&str] = &[
    "fips_mode",
    "gpg_decrypt_must_succeed",
    "gpg_keydir",
    "module_dirs",
    "python_fallback",
    "renderer_blacklist",
    "renderer_whitelist",
    "utils_dirs",
];

const MASTER: &[&str] = &[
    "enforce_mine_cache",
    "pillar_cache",
    "pillar_cache_ttl",
    "runner_dirs",
    "salt_cp_chunk_size",
    "sharedsecret",
    "syndic_wait",
    "tcp_master_publish_pull",
    "top_dirs",
];

const MINION: &[&str] = &[
    "aptpkg_refresh_db_timeout",
    "autoload_dynamic_modules",
    "backup_mode",
    "bootstrap_script_url",
    "clean_dynamic_modules",
    "cmd_safe",
    "default_top",
    "disabled_requisites",
    "env_order",
    "extension_modules",
    "extmod_blacklist",
    "extmod_whitelist",
    "failhard",
    "global_state_conditions",
    "grains_dirs",
    "local_state",
    "lock_saltenv",
    "master_tops_first",
    "minion_restart_command",
    "module_executors",
    "providers",
    "proxy_host",
    "proxy_password",
    "proxy_port",
    "proxy_username",
    "renderer",
    "returner_dirs",
    "splaytime",
    "state_aggregate",
    "state_auto_order",
    "state_events",
    "state_max_parallel",
    "state_queue",
    "state_top",
    "state_top_saltenv",
    "states_dirs",
    "test",
    "top_file_merging_strategy",
    "use_master_when_local",
    "venv_bin",
];

/// Whether code outside this crate heeds the option.
pub(crate) fn is_read(side: Side, name: &str) -> bool {
    let of_side = match side {
        Side::Master => MASTER,
        Side::Minion => MINION,
    };
    BOTH.contains(&name) || of_side.contains(&name)
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
            stem.is_some_and(|stem| text.contains(&stem))
        };
        for name in [BOTH, MASTER, MINION].concat() {
            let quoted = format!("\"{name}\"");
            assert!(text.contains(&quoted) || made(name), "nobody reads {name}");
        }
    }

    #[test]
    fn each_name_stands_once() {
        for side in [MASTER, MINION] {
            let mut all = [BOTH, side].concat();
            all.sort_unstable();
            let count = all.len();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
