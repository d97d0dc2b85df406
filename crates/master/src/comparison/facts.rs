//! The facts about one master that should be the same on its companions.

use halite_cluster::roots::Which;
use halite_crypto::{HashType, Hasher, hash_hex};
use halite_fileserver::{Backends, FileServer, RootsOptions};
use halite_key::KeyState;
use halite_proto::{Map, SALT_RELEASE, SaltEnv, Value};

use super::together;
use crate::clock::now_micros;
use crate::cluster::Cluster;
use crate::error::chain;
use crate::files::Files;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::publishing::Publishing;
use crate::registers::KeyRegisters;
use crate::settings::General;
use crate::shared_roots::tree::envs;

/// Options that say who may do what, and those that have to fit together.
const OPTIONS: [&str; 25] = [
    "allow_minion_key_revoke",
    "auto_accept",
    "autosign_file",
    "autosign_grains_dir",
    "client_acl_verify",
    "cluster_isolated_filesystem",
    "cluster_pool_port",
    "cluster_return_copies",
    "external_auth",
    "file_recv",
    "fileserver_backend",
    "hash_type",
    "master_sign_pubkey",
    "mine_get",
    "nodegroups",
    "open_mode",
    "order_masters",
    "peer",
    "peer_run",
    "permissive_pki_access",
    "publisher_acl",
    "publisher_acl_blacklist",
    "publish_session",
    "sign_pub_messages",
    "sudo_acl",
];

/// Where the facts are.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) general: &'a General,
    pub(crate) keys: &'a Keys,
    pub(crate) files: &'a Files,
    pub(crate) jobs: &'a Jobs,
    pub(crate) publishing: &'a Publishing,
    pub(crate) cluster: Option<&'a Cluster>,
    pub(crate) registers: Option<&'a KeyRegisters>,
}

/// The facts; reads all files of the roots.
pub(crate) fn gather(known: Known<'_>) -> Map {
    Map::from([
        ("id", Value::from(known.general.id.as_str())),
        (
            "version",
            format!("{SALT_RELEASE} (Halite {})", env!("CARGO_PKG_VERSION")).into(),
        ),
        ("clock", now_micros().into()),
        ("keys", keys(known.keys).into()),
        ("commits", commits(&known.files.server).into()),
        ("file_roots", content_hashes(&known.files.server).into()),
        ("pillar_roots", pillar_hashes(known).into()),
        ("cluster", together::cluster(known).into()),
        ("store", together::places(known).into()),
        ("options", options(known.general).into()),
    ])
}

/// A hash of each minion's key, by state.
fn keys(keys: &Keys) -> Map {
    let mut states = Map::new();
    let listing = match keys.store.list_all() {
        Ok(listing) => listing,
        Err(error) => {
            tracing::error!("could not list the keys: {}", chain(&error));
            return states;
        }
    };
    for state in [KeyState::Accepted, KeyState::Pending, KeyState::Rejected] {
        let mut of_state = Map::new();
        for id in listing.in_state(state) {
            let pem = keys.store.get(state, id).ok().flatten().unwrap_or_default();
            let lines: String = pem.lines().map(str::trim).collect();
            of_state.insert(id, hash_hex(HashType::Sha256, lines.as_bytes()));
        }
        states.insert(state.word(), of_state);
    }
    states
}

fn pillar_hashes(known: Known<'_>) -> Map {
    let roots = envs(known.general, Which::Pillar).into_iter();
    let options = RootsOptions {
        file_roots: roots.map(|(env, dirs)| (env.saltenv, dirs)).collect(),
        hash_type: known.files.settings.server.roots.hash_type,
        // What minions are not served of `file_roots` counts in pillars all the same.
        ..RootsOptions::default()
    };
    match FileServer::from_roots(options) {
        Ok(files) => content_hashes(&files),
        Err(error) => {
            tracing::error!("could not read the pillar roots: {}", chain(&error));
            Map::new()
        }
    }
}

/// The commits of files from git: of each environment and remote.
fn commits(files: &FileServer) -> Map {
    let gitfs = Backends::Only(vec!["gitfs".to_owned()]);
    let mut all = Map::new();
    for name in files.envs(&gitfs) {
        let Ok(env) = SaltEnv::parse(name.as_str()) else {
            continue;
        };
        for (remote, commit) in files.commits(&env) {
            all.insert(format!("{env} of {remote}"), commit);
        }
    }
    all
}

/// A hash of names and contents for each environment.
fn content_hashes(files: &FileServer) -> Map {
    let mut hashes = Map::new();
    // Of files from git the commits are compared.
    let meant = Backends::Except(vec!["gitfs".to_owned()]);
    for name in files.envs(&meant) {
        let Ok(env) = SaltEnv::parse(name.as_str()) else {
            continue;
        };
        let lists = files.lists(&env, &meant);
        let mut hasher = Hasher::new(HashType::Sha256);
        for path in &lists.files {
            let hash = files.hash(path, &env).ok().flatten();
            let hash = hash.map(|hash| hash.hsum).unwrap_or_default();
            hasher.update(format!("{path}\0{hash}\n").as_bytes());
        }
        hashes.insert(name, hasher.finish_hex());
    }
    hashes
}

fn options(general: &General) -> Map {
    OPTIONS
        .iter()
        .map(|name| {
            let value = general.opts.get(name).cloned().unwrap_or_default();
            (
                Value::from(*name),
                Value::from(halite_proto::python::repr(&value)),
            )
        })
        .collect()
}

/// The differences of two masters, as lines for people.
pub(crate) fn differences(ours: &Map, theirs: &Map) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let part = |facts: &Map, name: &str| {
        facts
            .get(name)
            .and_then(Value::as_map)
            .cloned()
            .unwrap_or_default()
    };
    if ours.get("version") != theirs.get("version") {
        found.push((
            "version",
            format!("it runs {}", shown(theirs.get("version"))),
        ));
    }
    let (our_keys, their_keys) = (part(ours, "keys"), part(theirs, "keys"));
    for state in ["accepted", "pending", "rejected"] {
        let (here, there) = (part(&our_keys, state), part(&their_keys, state));
        let only = |a: &Map, b: &Map| names(a.iter().filter(|(id, _)| b.get_value(id).is_none()));
        let other = names(
            here.iter()
                .filter(|(id, key)| there.get_value(id).is_some_and(|known| known != *key)),
        );
        for (what, ids) in [
            ("only here", only(&here, &there)),
            ("only there", only(&there, &here)),
            ("another key there", other),
        ] {
            if !ids.is_empty() {
                found.push(("keys", format!("{state}, {what}: {ids}")));
            }
        }
    }
    for (name, label) in [
        ("commits", "commits"),
        ("file_roots", "file_roots"),
        ("pillar_roots", "pillar_roots"),
        ("cluster", "cluster"),
        ("store", "store"),
        ("options", "options"),
    ] {
        let (here, there) = (part(ours, name), part(theirs, name));
        let mut all: Vec<&Value> = here.keys().chain(there.keys()).collect();
        all.sort_by_key(|key| key.as_str());
        all.dedup();
        for key in all {
            let (a, b) = (here.get_value(key), there.get_value(key));
            if a == b {
                continue;
            }
            let key = shown(Some(key));
            let text = match (name, a, b) {
                (_, None, _) => format!("{key}: only there"),
                (_, _, None) => format!("{key}: only here"),
                ("options" | "commits" | "cluster" | "store", a, b) => {
                    format!("{key}: {} here, {} there", shown(a), shown(b))
                }
                _ => format!("{key}: other files"),
            };
            found.push((label, text));
        }
    }
    found
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), halite_proto::python::str)
}

/// Ids, of many only the first ones.
fn names<'a>(entries: impl Iterator<Item = (&'a Value, &'a Value)>) -> String {
    const NAMES_MAX: usize = 10;
    let mut ids: Vec<&str> = entries.filter_map(|(id, _)| id.as_str()).collect();
    ids.sort_unstable();
    let more = ids.len().saturating_sub(NAMES_MAX);
    ids.truncate(NAMES_MAX);
    match more {
        0 => ids.join(", "),
        more => format!("{} and {more} more", ids.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(accepted: &[(&str, &str)], base: &str, open: &str) -> Map {
        let accepted: Map = accepted
            .iter()
            .map(|(id, key)| (Value::from(*id), Value::from(*key)))
            .collect();
        Map::from([
            ("version", Value::from("1")),
            ("keys", Map::from([("accepted", accepted)]).into()),
            ("file_roots", Map::from([("base", base)]).into()),
            ("options", Map::from([("open_mode", open)]).into()),
        ])
    }

    #[test]
    fn masters_that_agree_have_no_differences() {
        let one = facts(&[("web1", "k")], "h", "False");
        assert_eq!(differences(&one, &one), []);
    }

    #[test]
    fn each_difference_is_a_line() {
        let ours = facts(&[("web1", "k"), ("web2", "k"), ("web3", "k")], "h", "False");
        let theirs = facts(
            &[("web1", "k"), ("web2", "other"), ("web4", "k")],
            "i",
            "True",
        );
        let lines: Vec<String> = differences(&ours, &theirs)
            .into_iter()
            .map(|(topic, text)| format!("{topic}: {text}"))
            .collect();
        assert_eq!(
            lines,
            [
                "keys: accepted, only here: web3",
                "keys: accepted, only there: web4",
                "keys: accepted, another key there: web2",
                "file_roots: base: other files",
                "options: open_mode: False here, True there",
            ]
        );
    }
}
