//! `cluster.sync_roots`: this master's files for the other masters of its cluster.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use halite_cluster::PeerId;
use halite_cluster::limits::ROOT_ENV_BYTES_MAX;
use halite_cluster::roots::{RootEnv, RootFile, Which};
use halite_proto::{Map, Value};

use super::Call;
use super::cluster::{known_peers, own_cluster};
use super::error::{Ran, RunnerError};
use super::root_gifts::Gift;
use super::table::Function;
use crate::limits::ROOTS_FAILED_SHOWN_MAX;
use crate::shared_roots::tree::{OwnFile, envs, list, stands_for_many};

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "cluster.sync_roots",
    "(roots='both', members=None, test=False, timeout=60)",
    run,
    "Copies the files of this master's `file_roots`, `pillar_roots` or both (`roots`: `file`,\n\
     `pillar`, `both`) to the other members of the cluster, or to those in `members`.\n\n\
     Only files that a member lacks or has in another version are sent. They are written to\n\
     the first root that the member's own configuration has for the environment; nothing is\n\
     removed there. Links and the files of git and similar tools are not sent. With test=True\n\
     it only reports what would be written. timeout is how long a member may take for one\n\
     answer, in seconds.\n\n\
     Returns for each member how many files were written, how many were the same, and which\n\
     it refused; for this master how many files it has, and how many links and the like were\n\
     left out. The return code is 1 if a member is not connected or has refused a file.",
)];

/// The files of one environment here.
pub(super) struct Env {
    pub(super) env: RootEnv,
    pub(super) files: Vec<(OwnFile, RootFile)>,
}

/// The outcome for the files of one option at one member.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) written: usize,
    pub(super) same: usize,
    pub(super) failed: BTreeMap<String, String>,
    pub(super) failed_count: usize,
}

impl Outcome {
    pub(super) fn fail(&mut self, env: &RootEnv, path: &str, why: String) {
        self.failed_count += 1;
        if self.failed.len() < ROOTS_FAILED_SHOWN_MAX {
            let name = match path {
                "" => env.saltenv.clone(),
                path => format!("{}: {path}", env.saltenv),
            };
            self.failed.insert(name, why);
        }
    }

    pub(super) fn shown(&self, is_test: bool) -> Map {
        let mut shown = Map::from([
            (if is_test { "differ" } else { "written" }, self.written),
            ("same", self.same),
        ]);
        self.show_failed(&mut shown);
        shown
    }

    fn show_failed(&self, shown: &mut Map) {
        if self.failed_count == 0 {
            return;
        }
        let mut failed = Map::new();
        for (name, why) in &self.failed {
            failed.insert(name.as_str(), why.as_str());
        }
        shown.insert("failed", failed);
        shown.insert("failed_count", self.failed_count);
    }
}

fn run(call: &Call<'_>) -> Ran {
    let cluster = own_cluster(call)?;
    let roots = call.runners.shared_roots.as_deref();
    let roots = roots.ok_or_else(|| failed("this master belongs to no cluster".to_owned()))?;
    let options: &[Which] = match call.text("roots") {
        Some("file") => &[Which::Files],
        Some("pillar") => &[Which::Pillar],
        Some("both") => &[Which::Files, Which::Pillar],
        _ => return Err(failed("roots must be file, pillar or both".to_owned())),
    };
    let mut peers = meant(call, known_peers(call))?;
    // A member is asked one thing at a time.
    peers.sort_unstable();
    peers.dedup();
    let own = options.iter().map(|which| Own::read(call, *which));
    let own: Vec<Own> = own.collect::<Result<_, _>>()?;
    if own.iter().any(|own| own.unreadable.failed_count > 0) {
        call.retcode.set(1);
    }
    let mut here = Map::new();
    for own in &own {
        here.insert(own.which.option(), own.shown());
    }
    let mut all = Map::from([(cluster.own.as_str(), here)]);
    let gift = Gift {
        cluster,
        roots,
        stop: call.stop,
        own: &own,
        answer_max: call.seconds("timeout", Duration::from_secs(60)),
        is_test: call.flag("test"),
    };
    let given = gift.give_all(&peers).map_err(RunnerError::Stopped)?;
    for (peer, said) in given {
        if said.has_failed {
            call.retcode.set(1);
        }
        all.insert(peer.as_str(), said.shown);
    }
    Ok(all.into())
}

fn failed(why: String) -> RunnerError {
    RunnerError::Failed(why)
}

/// The members that the call names among those that are known; all of them if it names
/// none.
fn meant(call: &Call<'_>, known: Vec<PeerId>) -> Result<Vec<PeerId>, RunnerError> {
    let named = match call.arg("members") {
        Value::Nil => return Ok(known),
        Value::List(names) => names.iter().map(halite_proto::python::str).collect(),
        names => {
            let names = halite_proto::python::str(names);
            let names = names.split(',').map(|name| name.trim().to_owned());
            names.collect::<Vec<_>>()
        }
    };
    let member = |name: &String| {
        let mut known = known.iter();
        let found = known.find(|peer| peer.as_str() == name);
        found
            .cloned()
            .ok_or_else(|| failed(format!("the cluster has no other member {name:?}")))
    };
    named.iter().map(member).collect()
}

/// The files of an option here, with their hashes.
pub(super) struct Own {
    pub(super) which: Which,
    pub(super) envs: Vec<Env>,
    pub(super) left_out: usize,
    pub(super) unreadable: Outcome,
}

impl Own {
    /// Reads them.
    fn read(call: &Call<'_>, which: Which) -> Result<Self, RunnerError> {
        let mut own = Self {
            which,
            envs: Vec::new(),
            left_out: 0,
            unreadable: Outcome::default(),
        };
        for (env, roots) in envs(&call.runners.general, which) {
            if env.saltenv.len() > ROOT_ENV_BYTES_MAX {
                let why = format!("its name has more than {ROOT_ENV_BYTES_MAX} bytes");
                own.unreadable.fail(&env, "", why);
                continue;
            }
            if roots.iter().any(|root| stands_for_many(root)) {
                let why = "__env__ in a root stands for many environments".to_owned();
                own.unreadable.fail(&env, "", why);
                continue;
            }
            let tree = list(&roots).map_err(|error: io::Error| {
                failed(format!("{}, {}: {error}", which.option(), env.saltenv))
            })?;
            own.left_out += tree.left_out;
            let mut files = Vec::new();
            for file in tree.files {
                call.wait(Duration::ZERO)?;
                match file.described() {
                    Ok(described) => files.push((file, described)),
                    Err(error) => {
                        let path = file.path.as_str();
                        own.unreadable.fail(&env, path, error.to_string());
                    }
                }
            }
            own.envs.push(Env { env, files });
        }
        Ok(own)
    }

    fn shown(&self) -> Map {
        let files: usize = self.envs.iter().map(|env| env.files.len()).sum();
        let mut shown = Map::from([("files", files), ("left_out", self.left_out)]);
        self.unreadable.show_failed(&mut shown);
        shown
    }
}
