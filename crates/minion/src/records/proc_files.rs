//! The `proc` directory: one file per running job. Salt's tools on the same machine
//! (and a later start of this minion) see from it what runs.
//!
//! Salt 3008.5: `<cachedir>/proc/<jid>`, a map of the publication with `pid`. Ours
//! also have [`STARTED`]: a process that was killed leaves its file behind, and its
//! process id may later belong to another one. Those of a minion's own jobs have
//! [`RETURNED`] if masters must get their results, and those of masters have
//! [`KEY`]. Of two jobs with one id that run at the same time, the second one's
//! file is `<jid>.2`.

mod runner;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use halite_crypto::files::{self, WriteOptions};
use halite_proto::returns::ReturnJid;
use halite_proto::{Jid, Map, Value, msgpack};
use tracing::{debug, error, warn};

use self::runner::{KEY, RETURNED, Runner, STARTED, own_start};
use crate::core::origin::{JobKey, JobName, Origin};
use crate::core::sign_in::chain;

/// Largest proc file that is read.
const PROC_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const MODE: u32 = 0o600;

/// The directory of proc files.
#[derive(Clone, Debug)]
pub struct ProcDir {
    path: PathBuf,
    /// The names of this process's files.
    taken: Arc<Mutex<HashSet<String>>>,
}

impl ProcDir {
    /// Opens `<cachedir>/proc`. Where it cannot be made (a full disk, one that
    /// may only be read) jobs run without files.
    pub fn open(cachedir: &Path) -> Self {
        Self::make(cachedir).unwrap_or_else(|error| {
            error!("no directory for proc files: {}", chain(&error));
            Self::at(cachedir)
        })
    }

    /// The same for who can do without.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn make(cachedir: &Path) -> Result<Self, files::FileError> {
        let made = Self::at(cachedir);
        files::ensure_private_dir(&made.path, None)?;
        Ok(made)
    }

    /// The proc files that an earlier run of this minion left: none of those jobs runs
    /// any more. Each file stays until [`Self::forget`], as this run may die too before
    /// it has reported the job. `was_ours` says which jobs an earlier run has started;
    /// for others the process id in the file decides.
    pub fn left_behind(&self, was_ours: impl Fn(&str) -> bool) -> Vec<LeftBehind> {
        let is_left = |name: &str, content: &Content| match content {
            // The number of a dead process may be another Salt program's now.
            Content::Job(who, _) => was_ours(name) || who.is_ourselves() || !who.lives(),
            Content::Damaged => true,
        };
        let left = |(path, content): (PathBuf, Content)| {
            let jid = jid_of(&path).filter(|jid| is_left(jid.as_str(), &content))?;
            let (load, returned, key) = match content {
                Content::Job(who, load) => (Some(load), who.returned, who.key),
                Content::Damaged => (None, None, None),
            };
            Some(LeftBehind {
                path,
                jid,
                load,
                returned,
                key,
            })
        };
        self.all().filter_map(left).collect()
    }

    /// Removes a file that was left and whose job is reported.
    pub fn forget(left: &LeftBehind) {
        remove(&left.path);
    }

    /// The directory, without creating or removing anything.
    pub fn at(cachedir: &Path) -> Self {
        Self {
            path: cachedir.join("proc"),
            taken: Arc::default(),
        }
    }

    /// Writes a job's file; it is removed when the guard is dropped. `key` says
    /// what a master has published.
    pub fn enter(&self, jid: &Jid, load: &Map, key: Option<&JobKey>) -> Option<ProcFile> {
        self.write(jid, load, key.map(|key| (KEY, key.to_string())))
    }

    /// Removes the file of an abandoned job that may still run: of the files with its id,
    /// the one of the publication `key`.
    pub fn give_up(&self, jid: &Jid, key: Option<&JobKey>) {
        for (path, content) in self.all() {
            let is_it = match &content {
                Content::Job(who, _) => who.key.as_ref() == key,
                Content::Damaged => false,
            };
            if is_it && jid_of(&path).as_ref() == Some(jid) {
                remove(&path);
            }
        }
    }

    /// The same for a job of the minion's own: `returned` is the id under which masters
    /// get its result, if they do.
    pub fn enter_own(
        &self,
        jid: &Jid,
        load: &Map,
        returned: Option<&ReturnJid>,
    ) -> Option<ProcFile> {
        let returned = returned.map(|jid| (RETURNED, jid.as_str().to_owned()));
        self.write(jid, load, returned)
    }

    fn write(
        &self,
        jid: &Jid,
        load: &Map,
        beside: Option<(&'static str, String)>,
    ) -> Option<ProcFile> {
        let mut content = load.clone();
        content.extend(beside);
        if let Some(started) = own_start() {
            content.insert(STARTED, started);
        }
        let bytes = match msgpack::pack_wire(&Value::Map(content)) {
            Ok(bytes) => bytes,
            Err(error) => {
                warn!(%jid, %error, "could not write the proc file of a job");
                return None;
            }
        };
        let options = WriteOptions {
            mode: MODE,
            owner: None,
            durable: false,
        };
        let file = self.take_name(jid);
        let written = files::write_atomic(&file.path, options, &bytes).or_else(|_| {
            // Somebody may have removed the directory.
            files::ensure_private_dir(&self.path, None)?;
            files::write_atomic(&file.path, options, &bytes)
        });
        match written {
            Ok(()) => Some(file),
            Err(error) => {
                warn!(%jid, %error, "could not write the proc file of a job");
                None
            }
        }
    }

    /// A name that no running job has: the first one of its id has Salt's.
    fn take_name(&self, jid: &Jid) -> ProcFile {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut name = jid.as_str().to_owned();
        let mut number = 2_usize;
        while taken.contains(&name) {
            name = format!("{jid}.{number}");
            number += 1;
        }
        taken.insert(name.clone());
        ProcFile {
            path: self.path.join(&name),
            name,
            taken: Arc::clone(&self.taken),
        }
    }

    /// What runs by the files, jobs of other Salt programs on this machine
    /// included.
    pub fn running(&self) -> Vec<Map> {
        let running = |(_, content)| match content {
            Content::Job(who, load) if who.lives() => Some(load),
            Content::Job(..) | Content::Damaged => None,
        };
        self.all().filter_map(running).collect()
    }

    fn all(&self) -> impl Iterator<Item = (PathBuf, Content)> {
        let entries = fs::read_dir(&self.path).into_iter().flatten();
        entries
            .filter_map(Result::ok)
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .filter_map(|entry| {
                let path = entry.path();
                let bytes = files::read_limited(&path, PROC_FILE_BYTES_MAX).ok()?;
                if let Ok(Value::Map(mut load)) = msgpack::unpack_wire(&bytes) {
                    let who = Runner::take(&mut load);
                    return Some((path, Content::Job(who, load)));
                }
                let is_of_a_job = jid_of(&path).is_some();
                if !is_of_a_job {
                    debug!(path = %path.display(), "removed a file that is not a proc file");
                    remove(&path);
                }
                is_of_a_job.then_some((path, Content::Damaged))
            })
    }
}

/// The content of a proc file.
enum Content {
    /// A job, and who runs it.
    Job(Runner, Map),
    /// Nothing to be read: the power was cut before the disk had it.
    Damaged,
}

/// The file of a job that an earlier run did not finish.
#[derive(Debug)]
pub struct LeftBehind {
    path: PathBuf,
    /// The job.
    pub jid: Jid,
    /// The load in the file, if it can be read.
    pub load: Option<Map>,
    /// For a job of the minion's own: the id under which masters get its result.
    pub returned: Option<ReturnJid>,
    /// One of a master's: what it has published.
    pub key: Option<JobKey>,
}

impl LeftBehind {
    /// The job: the minion's own, or the one that the claims name.
    pub fn job(&self, claims: &[JobName]) -> JobName {
        let origin = match self.returned {
            Some(_) => Origin::Own,
            None => Origin::master("", self.key.clone()),
        };
        let unclaimed = JobName {
            jid: self.jid.clone(),
            origin,
        };
        let is_it = |claim: &&JobName| claim.jid == self.jid && claim.origin.is(&unclaimed.origin);
        claims.iter().find(is_it).cloned().unwrap_or(unclaimed)
    }
}

/// The file of one running job.
#[derive(Debug)]
pub struct ProcFile {
    path: PathBuf,
    name: String,
    taken: Arc<Mutex<HashSet<String>>>,
}

impl Drop for ProcFile {
    fn drop(&mut self) {
        remove(&self.path);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.name);
    }
}

/// The job whose file it is, by its name.
fn jid_of(path: &Path) -> Option<Jid> {
    let name = path.file_name()?.to_str()?;
    let (jid, _number) = name.split_once('.').unwrap_or((name, ""));
    Jid::parse(jid).ok()
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(path = %path.display(), %error, "could not remove a proc file");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_running_job_is_seen_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcDir::open(dir.path());
        let jid = Jid::parse("20261120141841939742").unwrap();
        let load = Map::from([
            ("pid", Value::from(std::process::id())),
            ("fun", Value::from("test.sleep")),
        ]);
        let file = proc.enter(&jid, &load, None).unwrap();
        assert_eq!(proc.running(), [load]);
        drop(file);
        assert_eq!(proc.running(), []);
    }

    #[test]
    fn two_jobs_of_one_id_have_two_files() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcDir::open(dir.path());
        let jid = Jid::parse("20261120141841939742").unwrap();
        let load = Map::from([("pid", Value::from(std::process::id()))]);
        let keys = ["0", "1"].map(|digit| JobKey::parse(&digit.repeat(40)).unwrap());
        let files = keys
            .each_ref()
            .map(|key| proc.enter(&jid, &load, Some(key)));
        assert_eq!(proc.running(), [load.clone(), load.clone()]);
        let mut left = proc.left_behind(|name| name == jid.as_str());
        left.sort_by_key(|left| left.key.as_ref().map(ToString::to_string));
        let found: Vec<_> = left
            .iter()
            .map(|left| (&left.jid, left.key.clone()))
            .collect();
        assert_eq!(found, keys.map(|key| (&jid, Some(key))));
        let [first, second] = files;
        drop(first);
        assert_eq!(proc.running(), std::slice::from_ref(&load));
        drop(second);
        assert_eq!(fs::read_dir(dir.path().join("proc")).unwrap().count(), 0);
    }

    #[test]
    fn another_process_with_the_number_of_a_killed_one_does_not_run_its_job() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcDir::open(dir.path());
        let own = Map::from([("pid", Value::from(std::process::id()))]);
        let path = dir.path().join("proc/20261120141841939742");
        let mut killed = own.clone();
        killed.insert(STARTED, own_start().unwrap() - 1);
        fs::write(&path, msgpack::pack_wire(&Value::Map(killed)).unwrap()).unwrap();
        assert_eq!(proc.running(), []);
        // One that another make of salt-call has written says nothing of it.
        fs::write(&path, msgpack::pack_wire(&Value::Map(own.clone())).unwrap()).unwrap();
        assert_eq!(proc.running(), [own]);
    }

    #[test]
    fn a_job_of_the_minions_own_says_whom_to_tell() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcDir::open(dir.path());
        let load = Map::from([
            ("pid", Value::from(std::process::id())),
            ("fun", "test.sleep".into()),
        ]);
        for returned in [None, Some(ReturnJid::Req), Some(ReturnJid::NoCache)] {
            let jid = Jid::parse("20261120141841939742").unwrap();
            let file = proc.enter_own(&jid, &load, returned.as_ref());
            assert_eq!(proc.running(), std::slice::from_ref(&load));
            let left = proc.left_behind(|_| true);
            assert_eq!((left.len(), &left[0].returned), (1, &returned));
            drop(file);
        }
    }

    #[test]
    fn what_an_earlier_run_left_stays_until_it_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let stale = dir.path().join("proc");
        fs::create_dir(&stale).unwrap();
        let load = Map::from([("pid", Value::from(std::process::id()))]);
        let bytes = msgpack::pack_wire(&Value::Map(load)).unwrap();
        fs::write(stale.join("20261120141841939742"), bytes).unwrap();
        fs::write(stale.join("20261120141841939743"), b"").unwrap();
        fs::write(stale.join("rubbish"), b"\xc1 rubbish").unwrap();
        // A start that dies before it has told of them, then another one.
        for _ in 0..2 {
            let mut left = ProcDir::open(dir.path()).left_behind(|_| false);
            left.sort_by(|one, other| one.jid.as_str().cmp(other.jid.as_str()));
            let known: Vec<bool> = left.iter().map(|left| left.load.is_some()).collect();
            // A file that the power cut has emptied is one of a job, too.
            assert_eq!(known, [true, false]);
        }
        for left in ProcDir::at(dir.path()).left_behind(|_| false) {
            ProcDir::forget(&left);
        }
        assert_eq!(fs::read_dir(&stale).unwrap().count(), 0);
    }

    #[test]
    fn a_job_that_was_ours_is_left_behind_whoever_has_its_process_number() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcDir::open(dir.path());
        // It waits for its input, which does not come. Until it has said
        // something, the kernel may not show its command line yet.
        let mut other = std::process::Command::new("sh")
            .args(["-c", "echo; read line; : salt"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0];
        other
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut said)
            .unwrap();
        let jid = Jid::parse("20261120141841939742").unwrap();
        let load = Map::from([("pid", Value::from(other.id()))]);
        let load = msgpack::pack_wire(&Value::Map(load)).unwrap();
        fs::write(dir.path().join("proc").join(jid.as_str()), load).unwrap();
        let guessed = proc.left_behind(|_| false).len();
        let ours = proc.left_behind(|name| name == jid.as_str()).len();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!((guessed, ours), (0, 1));
    }
}
