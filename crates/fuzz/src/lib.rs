//! Fuzz targets: code that reads untrusted bytes.
//!
//! A target may refuse its input; it must not panic, and what it accepts has to
//! survive being written and read again. `cargo xtask fuzz` runs them with coverage
//! feedback; the tests of this crate run them on the inputs in `corpus`, which
//! earlier runs have found, and on damaged ones.
//!
//! A new target is an entry of `OTHERS`, a file of that name in `corpus`, and a row
//! of `docs/fuzzing.md` (`cargo xtask fuzz NAME --keep --record`). Private code of
//! a crate is reached through its hidden module `fuzzing`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what fails panics: that is what a fuzzer looks for"
)]

#[path = "../../proto/tests/properties/decoders.rs"]
mod decoders;
mod files;
mod grammars;
mod keys;
#[path = "../../state/tests/state/memory_tree/mod.rs"]
mod memory_tree;
#[path = "../../render/tests/properties/texts.rs"]
mod texts;

use std::path::{Path, PathBuf};

/// A target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, also of its file in `corpus`.
    pub name: &'static str,
    /// What is done with the bytes.
    pub run: Run,
}

/// What is done with bytes.
pub type Run = fn(&[u8]);

/// All targets that are not decoders of `halite-proto`.
const OTHERS: &[(&str, Run)] = &[
    ("api_events", halite_api::fuzzing::event_stream),
    ("api_head", halite_api::fuzzing::head),
    ("api_request", halite_api::fuzzing::request),
    ("archive", files::archive),
    ("authorized_keys", halite_accounts::fuzzing::authorized_keys),
    ("certificate", halite_certificates::fuzzing::certificate),
    ("claims", halite_minion::fuzzing::claims),
    ("cluster_joining", halite_cluster::fuzzing::joining),
    ("cluster_data", halite_cluster::fuzzing::data),
    ("cluster_messages", halite_master::fuzzing::cluster_message),
    ("cluster_registers", halite_cluster::fuzzing::registers),
    ("cluster_roots", halite_cluster::fuzzing::roots),
    ("cluster_under_way", halite_cluster::fuzzing::under_way),
    ("crontab", halite_services::fuzzing::crontab),
    ("crypticle", keys::crypticle),
    ("json", grammars::json),
    ("known_hosts", halite_accounts::fuzzing::known_hosts),
    ("ldap_entries", halite_ldap::fuzzing::entries),
    ("ldap_names", halite_ldap::fuzzing::names),
    ("mesh_batches", halite_mesh::fuzzing::batch),
    ("mesh_frames", halite_mesh::fuzzing::frame),
    ("patterns", grammars::patterns),
    ("python_frames", halite_pyworker::fuzzing::frames),
    ("query", texts::query),
    ("range_answer", halite_range::fuzzing::answer),
    ("rsa_input", keys::rsa_input),
    ("rsa_keys", keys::rsa_keys),
    ("sls", texts::sls),
    ("spool", halite_spool::fuzzing::records),
    ("states", memory_tree::trees::compile),
    ("targets", grammars::targets),
    ("template", texts::template),
    ("yaml", texts::yaml),
    ("zmtp", halite_transport::fuzzing::zmtp),
];

/// All targets.
pub fn targets() -> impl Iterator<Item = Target> {
    let all = decoders::DECODERS.iter().chain(OTHERS);
    all.map(|&(name, run)| Target { name, run })
}

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    targets().find(|target| target.name == name)
}

/// What the target of a name does, for a program that has no other target.
///
/// # Panics
/// When there is no such target: while the program is compiled.
pub const fn run_of(name: &str) -> Run {
    let run = match find(decoders::DECODERS, name) {
        None => find(OTHERS, name),
        found => found,
    };
    run.expect("HALITE_FUZZ_TARGET names no target")
}

const fn find(targets: &[(&str, Run)], name: &str) -> Option<Run> {
    let mut at = 0;
    while at < targets.len() {
        if is_same(targets[at].0.as_bytes(), name.as_bytes()) {
            return Some(targets[at].1);
        }
        at += 1;
    }
    None
}

/// `==`, which is not yet for constants.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The file with the inputs that are kept for the target of a name.
pub fn corpus(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    dir.join(format!("{name}.txt"))
}
