//! The `proc` directory: one file per running job, which is how Salt's tools
//! on the same machine (and a later start of this minion) see what runs.
//!
//! Salt 3008.5: `<cachedir>/proc/<jid>`, a map of the publication with `pid`.
//! Ours have [`STARTED`] besides: a process that was killed leaves its file
//! behind, and some day its number is that of another one. Those of a minion's
//! own jobs have [`RETURNED`], if masters are to hear what became of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use halite_crypto::files::{self, WriteOptions};
use halite_proto::returns::ReturnJid;
use halite_proto::{Jid, Map, Value, msgpack};
use tracing::{debug, error, warn};

use crate::core::sign_in::chain;

/// Largest proc file that is read.
const PROC_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const MODE: u32 = 0o600;

/// When the process that `pid` names had started, in the ticks of
/// `/proc/<pid>/stat`; nobody but us sees it.
const STARTED: &str = "halite_started";

/// Under which id masters are told of a job of the minion's own; nobody but us
/// sees it.
const RETURNED: &str = "halite_returned";

/// Where a line of `/proc/<pid>/stat` says so, counted from the state, which is
/// the first word behind the program's name.
const STARTED_AT: usize = 19;

/// The directory of proc files.
#[derive(Clone, Debug)]
pub struct ProcDir {
    path: PathBuf,
}

impl ProcDir {
    /// Opens `<cachedir>/proc`. Where it cannot be made (a full disk, one that
    /// may only be read) jobs run without files.
    pub fn open(cachedir: &Path) -> Self {
        Self::make(cachedir).unwrap_or_else(|error| {
            error!("jobs have no proc files: {}", chain(&error));
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

    /// What an earlier run of this minion left behind: none of those jobs runs
    /// any more. Each stays until [`Self::forget`]: this run may die as well
    /// before it has told of them. `was_ours` says which jobs an earlier run
    /// has begun; of others that is guessed by the process that is named.
    pub fn left_behind(&self, was_ours: impl Fn(&str) -> bool) -> Vec<LeftBehind> {
        let is_left = |name: &str, content: &Content| match content {
            // The number of a dead process may be another Salt program's now.
            Content::Job(who, _) => was_ours(name) || who.is_ourselves() || !who.lives(),
            Content::Damaged => true,
        };
        let left = |(path, content): (PathBuf, Content)| {
            let name = path.file_name()?.to_str()?;
            let jid = Jid::parse(name).ok().filter(|_| is_left(name, &content))?;
            let (load, returned) = match content {
                Content::Job(who, load) => (Some(load), who.returned),
                Content::Damaged => (None, None),
            };
            Some(LeftBehind {
                path,
                jid,
                load,
                returned,
            })
        };
        self.all().filter_map(left).collect()
    }

    /// Removes a file that was left behind and is told of.
    pub fn forget(left: &LeftBehind) {
        remove(&left.path);
    }

    /// The directory as it is: nothing is made and nothing is removed.
    pub fn at(cachedir: &Path) -> Self {
        Self {
            path: cachedir.join("proc"),
        }
    }

    /// Writes a job's file; it is removed when the guard is dropped.
    pub fn enter(&self, jid: &Jid, load: &Map) -> Option<ProcFile> {
        self.enter_own(jid, load, None)
    }

    /// Removes the file of a job that was given up and may still run.
    pub fn give_up(&self, jid: &Jid) {
        remove(&self.path.join(jid.as_str()));
    }

    /// The same for a job of the minion's own: `returned` is the id under which
    /// masters are told of it, if they are.
    pub fn enter_own(
        &self,
        jid: &Jid,
        load: &Map,
        returned: Option<&ReturnJid>,
    ) -> Option<ProcFile> {
        let path = self.path.join(jid.as_str());
        let mut content = load.clone();
        if let Some(returned) = returned {
            content.insert(RETURNED, returned.as_str());
        }
        if let Some(started) = own_start() {
            content.insert(STARTED, started);
        }
        let bytes = match msgpack::pack_wire(&Value::Map(content)) {
            Ok(bytes) => bytes,
            Err(error) => {
                warn!(%jid, %error, "no proc file for this job");
                return None;
            }
        };
        let options = WriteOptions {
            mode: MODE,
            owner: None,
            durable: false,
        };
        let written = files::write_atomic(&path, options, &bytes).or_else(|_| {
            // Somebody may have removed the directory.
            files::ensure_private_dir(&self.path, None)?;
            files::write_atomic(&path, options, &bytes)
        });
        match written {
            Ok(()) => Some(ProcFile { path }),
            Err(error) => {
                warn!(%jid, %error, "no proc file for this job");
                None
            }
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
                let is_of_a_job = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .is_some_and(|name| Jid::parse(name).is_ok());
                if !is_of_a_job {
                    debug!(path = %path.display(), "not a proc file, removed");
                    remove(&path);
                }
                is_of_a_job.then_some((path, Content::Damaged))
            })
    }
}

/// What a proc file holds.
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
    /// What the file holds, if that can be read.
    pub load: Option<Map>,
    /// One of the minion's own: under which id masters are told of it.
    pub returned: Option<ReturnJid>,
}

/// The file of one running job.
#[derive(Debug)]
pub struct ProcFile {
    path: PathBuf,
}

impl Drop for ProcFile {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The process that a job runs in.
struct Runner {
    pid: Option<i64>,
    started: Option<i64>,
    returned: Option<ReturnJid>,
}

impl Runner {
    /// Takes what nobody else is to see.
    fn take(load: &mut Map) -> Self {
        Self {
            pid: load.get("pid").and_then(Value::as_i64),
            started: load.remove(STARTED).and_then(|ticks| ticks.as_i64()),
            returned: load
                .remove(RETURNED)
                .and_then(|jid| returned(jid.as_str()?)),
        }
    }

    fn is_ourselves(&self) -> bool {
        self.pid == Some(i64::from(std::process::id()))
    }

    /// Whether it lives: by its start where we have written that down, else by
    /// the rule that Salt has: the command line of the process names salt.
    fn lives(&self) -> bool {
        let Some(pid) = self.pid else {
            return false;
        };
        match self.started {
            Some(started) => start_of(&pid.to_string()) == Some(started),
            None if self.is_ourselves() => true,
            None => {
                let cmdline = Path::new("/proc").join(pid.to_string()).join("cmdline");
                fs::read(cmdline).is_ok_and(|line| line.windows(4).any(|word| word == b"salt"))
            }
        }
    }
}

/// What [`ProcDir::enter_own`] has written.
fn returned(jid: &str) -> Option<ReturnJid> {
    let known = [ReturnJid::Req, ReturnJid::NoCache];
    known.into_iter().find(|known| known.as_str() == jid)
}

fn own_start() -> Option<i64> {
    static OWN: OnceLock<Option<i64>> = OnceLock::new();
    *OWN.get_or_init(|| start_of("self"))
}

/// When a process started. One that has ended, and is not waited for yet, is
/// none any more.
fn start_of(process: &str) -> Option<i64> {
    let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat")).ok()?;
    // The name is in parentheses and may have any characters in it.
    let (_, words) = stat.rsplit_once(')')?;
    let mut words = words.split_ascii_whitespace();
    match words.next()? {
        "Z" | "X" => None,
        _ => words.nth(STARTED_AT - 1)?.parse().ok(),
    }
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(path = %path.display(), %error, "a proc file cannot be removed");
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
        let file = proc.enter(&jid, &load).unwrap();
        assert_eq!(proc.running(), [load]);
        drop(file);
        assert_eq!(proc.running(), []);
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
