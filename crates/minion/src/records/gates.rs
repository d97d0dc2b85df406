//! The numbers of the publications that have arrived, by master and publish key, on
//! disk: a publication that was recorded on the wire before this process began is
//! not run.
//!
//! A line of the file is a master, the name of a gate and its number. Nothing waits
//! for the writing, and the writing waits for nothing: when the process is killed,
//! the file may lack the last moment, but jobs that have begun are among the
//! claims.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::files::{self, WriteOptions};
use halite_proto::MasterUri;
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::core::publication::Gates;
use crate::core::sign_in::chain;

/// Largest file that is read: a thousand masters with all their gates.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const MODE: u32 = 0o600;

/// The file of gates.
#[derive(Debug)]
pub struct KeptGates {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What earlier runs have left, until the master's link is made.
    earlier: BTreeMap<String, Gates>,
    of_masters: BTreeMap<String, Gates>,
    /// Some are not in the file.
    is_behind: bool,
    is_writing: bool,
    is_failing: bool,
}

impl KeptGates {
    /// The gates in `<cachedir>/publications`.
    pub(crate) fn open(cachedir: &Path) -> Self {
        let path = cachedir.join("publications");
        let earlier = files::read_limited(&path, FILE_BYTES_MAX).unwrap_or_default();
        let state = State {
            earlier: parse(&earlier),
            ..State::default()
        };
        Self {
            path,
            state: Mutex::new(state),
        }
    }

    /// What earlier runs have kept of a master.
    pub(crate) fn earlier(&self, master: &MasterUri) -> Gates {
        let mut state = self.lock();
        let name = master.to_string();
        let gates = state.earlier.remove(&name).unwrap_or_default();
        state.of_masters.insert(name, gates.clone());
        gates
    }

    /// Writes the gates of a master to disk from now on. On the async thread.
    pub(crate) fn keep(self: &Arc<Self>, master: &MasterUri, gates: &Gates) {
        let mut state = self.lock();
        state.of_masters.insert(master.to_string(), gates.clone());
        state.is_behind = true;
        if !std::mem::replace(&mut state.is_writing, true) {
            let this = Arc::clone(self);
            spawn_blocking(move || this.write());
        }
    }

    /// Writes until everything is written.
    fn write(&self) {
        let mut state = self.lock();
        while std::mem::take(&mut state.is_behind) {
            let text = lines(&state.of_masters);
            drop(state);
            let options = WriteOptions {
                durable: false,
                ..WriteOptions::new(MODE)
            };
            let written = files::write_atomic(&self.path, options, text.as_bytes());
            state = self.lock();
            let was_failing = std::mem::replace(&mut state.is_failing, written.is_err());
            if let Err(error) = written
                && !was_failing
            {
                warn!(
                    "could not record the latest publications: after a restart the minion may \
                     accept them again: {}",
                    chain(&error)
                );
            }
        }
        state.is_writing = false;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lines(of_masters: &BTreeMap<String, Gates>) -> String {
    let mut text = String::new();
    for (master, gates) in of_masters {
        for (name, last) in gates.remembered() {
            text.extend([master, " ", name, " ", &last.to_string(), "\n"]);
        }
    }
    text
}

/// The lines that are gates.
fn parse(bytes: &[u8]) -> BTreeMap<String, Gates> {
    let mut of_masters: BTreeMap<String, Gates> = BTreeMap::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [master, name, last] = words[..]
            && let Ok(last) = last.parse()
        {
            let gates = of_masters.entry(master.to_owned()).or_default();
            gates.remember(name, last);
        }
    }
    of_masters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_gate_in_the_file_is_no_gate() {
        let text = "tcp://m1:4506 abc 7\ntcp://m1:4506 abc/0000002a 9\nrubbish\ntcp://m1:4506 abc -1\n\nm2:4506 x 1 2\n";
        let of_masters = parse(text.as_bytes());
        assert_eq!(
            lines(&of_masters),
            "tcp://m1:4506 abc 7\ntcp://m1:4506 abc/0000002a 9\n"
        );
    }

    #[test]
    fn gates_are_there_again_after_a_restart_and_of_their_master_only() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other] =
            ["127.0.0.1", "127.0.0.2"].map(|host| MasterUri::new(host, 4506).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let kept = Arc::new(KeptGates::open(dir.path()));
        let mut gates = kept.earlier(&one);
        assert_eq!(gates, Gates::default());
        runtime.block_on(async {
            for last in [3, 8] {
                gates.remember("hash", last);
                kept.keep(&one, &gates);
            }
        });
        // Waits for what is being written.
        drop(runtime);
        let kept = KeptGates::open(dir.path());
        assert_eq!(kept.earlier(&one), gates);
        assert_eq!(kept.earlier(&other), Gates::default());
    }
}
