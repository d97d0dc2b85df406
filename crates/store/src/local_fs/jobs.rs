//! The job cache: one directory per job, one below it per minion that
//! returned.
//!
//! Mirrors `salt/returners/local_cache.py`, 3006 to 3008.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_crypto::{HashType, hash_hex};
use halite_proto::msgpack::{Entries, unpack_modern};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value, time};

use super::atomic::{exists, load, put, put_making_dir, read};
use super::job_index::JobIndex;
use super::recent::{Known, Recent};
use super::seen_minions::{SeenMinions, SeenOf};
use crate::error::StoreError;
use crate::kept::Saved;
use crate::limits::{FIRST_LOCKS, JID_TRIES_MAX, OWN_JID_TRIES_MAX};
use crate::packing::{
    commits_of, load_of_return, pack_commits, pack_load, pack_minions, pack_out, pack_return,
    pack_return_of,
};

pub(crate) const JID: &str = "jid";
pub(crate) const NOCACHE: &str = "nocache";
pub(crate) const LOAD: &str = ".load.p";
pub(crate) const MINIONS: &str = ".minions.p";
pub(crate) const RETURN: &str = "return.p";
pub(crate) const OUT: &str = "out.p";
/// The commits that a return's files came from, beside it. Salt's programs read no file
/// of this name, and remove it with its job.
pub(crate) const COMMITS: &str = "commits.p";
pub(crate) const ENDTIME: &str = "endtime";
/// Whose own job it is, where the minion has given it its id. Salt's programs
/// skip files that begin with a dot.
pub(crate) const OWNER: &str = ".owner";

/// Which loads have been written anew, beside the jobs.
const REWRITES: &str = ".rewritten_loads";

/// The job cache of a master.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(super) dir: PathBuf,
    /// Which minion has published a job is in a file of the job's name here.
    pub(super) publishers: PathBuf,
    hash_type: HashType,
    recent: Recent,
    pub(super) index: JobIndex,
    /// Held while a list of minions is read and written.
    lists: Mutex<()>,
    /// The minions of jobs that are known only by their returns.
    seen: Mutex<SeenMinions>,
    /// Held while a job becomes known by its first return; jobs share them.
    first: [Mutex<()>; FIRST_LOCKS],
}

impl Jobs {
    pub(super) fn new(cachedir: &Path, hash_type: HashType) -> Self {
        Self {
            dir: cachedir.join("jobs"),
            publishers: cachedir.join("publish_auth"),
            hash_type,
            recent: Recent::default(),
            index: JobIndex::new(cachedir.join(REWRITES)),
            lists: Mutex::default(),
            seen: Mutex::default(),
            first: Default::default(),
        }
    }

    /// The directory of a job.
    pub(crate) fn job_dir(&self, jid: &Jid) -> PathBuf {
        let hash = hash_hex(self.hash_type, jid.as_str().as_bytes());
        let (shard, rest) = hash.split_at(2);
        self.dir.join(shard).join(rest)
    }

    pub(crate) fn allocate(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
    ) -> Result<Jid, StoreError> {
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            let dir = self.job_dir(&jid);
            if make_dir(&dir)? {
                // A full disk must not fill up with directories of jobs that were never stored.
                self.mark(&jid, &dir, nocache)
                    .inspect_err(|_| drop(fs::remove_dir_all(&dir)))?;
                return Ok(jid);
            }
        }
        Err(StoreError::JidsTaken {
            place: self.dir.display().to_string(),
            tries: JID_TRIES_MAX,
        })
    }

    pub(crate) fn allocate_own(&self, id: &MinionId, mark: &Jid) -> Result<Jid, StoreError> {
        let owner = format!("{id} {mark}");
        let first = time::jid_to_micros(mark);
        for number in 0..OWN_JID_TRIES_MAX {
            let later = first.and_then(|first| first.checked_add(number));
            let jid = match (number, later) {
                (0, _) => mark.clone(),
                (_, Some(micros)) => time::jid_from_micros(micros),
                (_, None) => break,
            };
            let dir = self.job_dir(&jid);
            let path = dir.join(OWNER);
            if make_dir(&dir)? {
                // As above; and who comes again would find its own id taken.
                put(&path, owner.as_bytes())
                    .and_then(|()| self.mark(&jid, &dir, false))
                    .inspect_err(|_| drop(fs::remove_dir_all(&dir)))?;
                return Ok(jid);
            }
            if read(&path)?.is_some_and(|known| known == owner.as_bytes()) {
                return Ok(jid);
            }
        }
        Err(StoreError::JidsTaken {
            place: self.dir.display().to_string(),
            tries: usize::try_from(OWN_JID_TRIES_MAX).unwrap_or(usize::MAX),
        })
    }

    pub(crate) fn knows(&self, jid: &Jid) -> Result<bool, StoreError> {
        Ok(self.recent.get(jid).is_some() || exists(&self.job_dir(jid))?)
    }

    pub(crate) fn has_load(&self, jid: &Jid) -> Result<bool, StoreError> {
        exists(&self.job_dir(jid).join(LOAD))
    }

    pub(crate) fn prepare(&self, jid: &Jid, nocache: bool) -> Result<(), StoreError> {
        let dir = self.job_dir(jid);
        make_dir(&dir)?;
        self.mark(jid, &dir, nocache)
    }

    pub(crate) fn save_load(
        &self,
        jid: &Jid,
        load: &Map,
        minions: Option<&[MinionId]>,
    ) -> Result<(), StoreError> {
        let path = self.job_dir(jid).join(LOAD);
        let packed = pack_load(path.display(), load)?;
        let is_anew = exists(&path)?;
        put_making_dir(&path, &packed)?;
        if is_anew {
            self.index.rewritten(jid);
        }
        match minions {
            Some(minions) => self.save_minions(jid, minions, None),
            None => Ok(()),
        }
    }

    pub(crate) fn save_minions(
        &self,
        jid: &Jid,
        minions: &[MinionId],
        syndic: Option<&MinionId>,
    ) -> Result<(), StoreError> {
        let path = match syndic {
            None => self.job_dir(jid).join(MINIONS),
            Some(syndic) => self.job_dir(jid).join(format!(".minions.{syndic}.p")),
        };
        let mut ids: Vec<String> = minions.iter().map(ToString::to_string).collect();
        let _held = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        // A damaged list is replaced.
        if let Ok(Some(known)) = load(&path) {
            let known = known.as_list().unwrap_or_default();
            ids.extend(
                known
                    .iter()
                    .filter_map(Value::as_str)
                    .map(ToOwned::to_owned),
            );
        }
        put_making_dir(&path, &pack_minions(path.display(), ids)?)
    }

    pub(crate) fn save_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Saved, StoreError> {
        self.save(jid, id, ret, |path| pack_return(path.display(), ret))
    }

    /// The same of a return whose value is a map of these entries.
    pub(crate) fn save_packed_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
        value: &Entries,
    ) -> Result<Saved, StoreError> {
        let pack = |path: &Path| pack_return_of(path.display(), ret, value);
        self.save(jid, id, ret, pack)
    }

    fn save(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
        pack: impl Fn(&Path) -> Result<Vec<u8>, StoreError>,
    ) -> Result<Saved, StoreError> {
        let dir = self.job_dir(jid);
        let known = match self.recent.get(jid) {
            Some(known) => known,
            None => {
                // Of two first returns at once, the second must see what the
                // first has made of the job: it belongs to its minions too.
                let _held = self.lock_first(jid);
                if self.recent.get(jid).is_none() && !dir.exists() {
                    let is_stored = self.save_unknown(jid, &dir, id, ret, &pack)?;
                    self.recent.insert(jid, Known::FromReturns);
                    if is_stored {
                        return Ok(Saved::Stored);
                    }
                }
                self.known(jid, &dir, id, ret)?
            }
        };
        if known == Known::NoCache {
            return Ok(Saved::NoCache);
        }
        let minion_dir = dir.join(id.as_str());
        let path = minion_dir.join(RETURN);
        let packed = pack(&path)?;
        // One that a power cut has spoilt is replaced.
        if !make_dir(&minion_dir)?
            && let Some(stored) = read(&path)?
            && unpack_modern(&stored).is_ok()
        {
            let differs = stored != packed;
            return Ok(Saved::Duplicate { differs });
        }
        // What is beside it first: who sees the return finds it complete.
        if let Some(out) = &ret.out {
            let path = minion_dir.join(OUT);
            put(&path, &pack_out(path.display(), out)?)?;
        }
        let commits = commits_of(ret);
        if !commits.is_empty() {
            let path = minion_dir.join(COMMITS);
            put(&path, &pack_commits(path.display(), &commits)?)?;
        }
        put(&path, &packed)?;
        if known == Known::FromReturns {
            // Nobody else says who was meant, and 3006 wants the list.
            let due = self.seen().add(jid, id);
            self.write_seen(due);
        }
        Ok(Saved::Stored)
    }

    /// Writes the lists of minions that were not due yet.
    pub(super) fn write_all_seen(&self) {
        let all = self.seen().take_all();
        self.write_seen(all);
    }

    /// Writes these lists. The returns are stored and show who has returned, so a list
    /// that cannot be written is not an error of a return.
    fn write_seen(&self, due: Vec<SeenOf>) {
        for (jid, minions) in due {
            let minions: Vec<MinionId> = minions.into_iter().collect();
            // One that was cleaned away is not made again.
            let dir = self.job_dir(&jid);
            if dir.is_dir()
                && let Err(error) = self.save_minions(&jid, &minions, None)
            {
                tracing::warn!(%error, "a list of a job's minions is not complete");
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, SeenMinions> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        put_making_dir(&self.job_dir(jid).join(ENDTIME), endtime.as_bytes())
    }

    pub(crate) fn forget_recent(&self) {
        self.recent.clear();
    }

    /// Prevents other first returns of a job from being stored at the same time.
    fn lock_first(&self, jid: &Jid) -> MutexGuard<'_, ()> {
        let bytes = jid.as_str().bytes();
        let sum = bytes.fold(0_usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        let lock = &self.first[sum % FIRST_LOCKS];
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the returns of a job are kept; an unknown job becomes known.
    fn known(
        &self,
        jid: &Jid,
        dir: &Path,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Known, StoreError> {
        if let Some(known) = self.recent.get(jid) {
            return Ok(known);
        }
        if dir.join(NOCACHE).exists() {
            self.recent.insert(jid, Known::NoCache);
            return Ok(Known::NoCache);
        }
        if !dir.join(LOAD).exists() {
            self.prepare(jid, false)?;
            self.save_load(jid, &load_of_return(jid, id, ret), None)?;
            self.recent.insert(jid, Known::FromReturns);
            return Ok(Known::FromReturns);
        }
        self.recent.insert(jid, Known::Stored);
        Ok(Known::Stored)
    }

    fn mark(&self, jid: &Jid, dir: &Path, nocache: bool) -> Result<(), StoreError> {
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.join(name);
            fs::write(&path, bytes).map_err(|source| StoreError::write(&path, source))
        };
        if nocache {
            write(NOCACHE, b"")?;
        }
        write(JID, jid.as_str().as_bytes())?;
        let known = if nocache {
            Known::NoCache
        } else {
            Known::Stored
        };
        self.recent.insert(jid, known);
        Ok(())
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.write_all_seen();
    }
}

/// How often the directory above is made, at most.
const PARENT_TRIES_MAX: usize = 16;

/// Makes a directory, and the one above it if need be; false if it exists.
pub(crate) fn make_dir(dir: &Path) -> Result<bool, StoreError> {
    let attempt = || match fs::create_dir(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    };
    let mut made = attempt();
    for _ in 0..PARENT_TRIES_MAX {
        match &made {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => break,
        }
        // The cleaner may take an empty parent away just before it is used.
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(|source| StoreError::make_dir(parent, source))?;
        }
        made = attempt();
    }
    made.map_err(|source| StoreError::make_dir(dir, source))
}
