//! Reading the job cache.

use std::ffi::OsStr;
use std::path::Path;

use halite_proto::request::Commits;
use halite_proto::{Jid, Map, MinionId, Value};

use super::atomic::{entries, load, read};
use super::jobs::{COMMITS, ENDTIME, JID, Jobs, LOAD, OUT, RETURN};
use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::kept::StoredReturn;
use crate::packing::FROM_RETURN;

impl Jobs {
    pub(crate) fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let Some(mut map) = self.bare_load(jid)? else {
            return Ok(None);
        };
        // Nobody has said who was meant, and the list of those that return is
        // written now and then.
        let are_who_returned = map.get("cmd").and_then(Value::as_str) == Some(FROM_RETURN);
        let minions = minions_in(&self.job_dir(jid), are_who_returned)?;
        if !minions.is_empty() {
            map.insert("Minions", minions);
        }
        Ok(Some(map))
    }

    pub(crate) fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        let dir = self.job_dir(jid);
        let mut returns = Vec::new();
        for entry in entries(&dir)? {
            let Some(id) = entry.file_name().to_str().and_then(visible_id) else {
                continue;
            };
            match stored_return(&entry.path()) {
                Ok(Some(ret)) => returns.push((id, ret)),
                Ok(None) => {}
                Err(error @ StoreError::Damaged { .. }) => {
                    tracing::warn!(%error, "skipping a damaged return");
                }
                Err(error) => return Err(error),
            }
        }
        returns.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(returns)
    }

    pub(crate) fn return_of(
        &self,
        jid: &Jid,
        id: &MinionId,
    ) -> Result<Option<StoredReturn>, StoreError> {
        stored_return(&self.job_dir(jid).join(id.as_str()))
    }

    pub(crate) fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        let text = read(&self.job_dir(jid).join(ENDTIME))?;
        Ok(text.map(|text| String::from_utf8_lossy(text.trim_ascii()).into_owned()))
    }

    pub(crate) fn newest_picked<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        mut pick: impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        if let Some(picked) = self.newest_indexed(max, filter, &mut pick)? {
            return Ok(picked);
        }
        let mut jids = self.jids()?;
        jids.retain(|jid| filter.fits_time(jid));
        jids.sort_unstable_by(|a, b| b.cmp(a));
        // One that is cleaned away meanwhile is no error.
        let load = |jid: Jid| Some((jid.clone(), self.bare_load(&jid).ok()??));
        let loads = jids.into_iter().filter_map(load);
        let fitting = loads.filter(|(_, load)| filter.fits_load(load));
        let picked = fitting.filter_map(|(jid, load)| pick(jid, load));
        Ok(picked.take(max).collect())
    }

    /// The ids of all jobs, in no particular order: where there are too many for the
    /// index.
    fn jids(&self) -> Result<Vec<Jid>, StoreError> {
        let shards = entries(&self.dir)?.into_iter();
        let jids = shards
            .flat_map(|shard| entries(&shard.path()).unwrap_or_default())
            .filter(|job| !is_hidden(&job.file_name()))
            .filter_map(|job| jid_of(&job.path()));
        Ok(jids.collect())
    }

    fn bare_load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let path = self.job_dir(jid).join(LOAD);
        load_as_map(&path, load(&path))
    }
}

/// The job id of a directory; `None` if it is not that of a job.
pub(super) fn jid_of(dir: &Path) -> Option<Jid> {
    let jid = read(&dir.join(JID)).ok().flatten()?;
    Jid::parse(String::from_utf8(jid).ok()?).ok()
}

/// Whether it is a directory that is just being made.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The load in the file.
pub(super) fn load_as_map(
    path: &Path,
    loaded: Result<Option<Value>, StoreError>,
) -> Result<Option<Map>, StoreError> {
    match undamaged(loaded)? {
        None => Ok(None),
        Some(Value::Map(map)) => Ok(Some(map)),
        Some(other) => Err(StoreError::kind(path.display(), &other, "dict")),
    }
}

/// The content of a file; one damaged by a power failure counts as missing, so that the
/// rest of its job can be shown.
fn undamaged(loaded: Result<Option<Value>, StoreError>) -> Result<Option<Value>, StoreError> {
    match loaded {
        Err(error @ StoreError::Damaged { .. }) => {
            tracing::warn!(%error, "skipping an entry that cannot be read");
            Ok(None)
        }
        other => other,
    }
}

fn stored_return(minion_dir: &Path) -> Result<Option<StoredReturn>, StoreError> {
    let data = match load(&minion_dir.join(RETURN))? {
        None => return Ok(None),
        Some(Value::Map(map)) if map.contains_key("return") => map,
        // Very old masters stored the bare value.
        Some(bare) => Map::from([("return", bare)]),
    };
    let out = match load(&minion_dir.join(OUT)) {
        Ok(Some(Value::Str(out))) => Some(out),
        _ => None,
    };
    let mut stored = StoredReturn::new(data, out);
    // One that cannot be read is none: the return itself is whole.
    if let Ok(Some(commits)) = load(&minion_dir.join(COMMITS)) {
        stored.commits = Commits::from_value(&commits);
    }
    Ok(Some(stored))
}

/// The ids in `.minions.p` and the lists of syndics, and of those that have returned
/// if they are to count, sorted.
fn minions_in(dir: &Path, with_returned: bool) -> Result<Vec<Value>, StoreError> {
    let mut ids: Vec<String> = Vec::new();
    for entry in entries(dir)? {
        let name = entry.file_name();
        let is_list = name
            .to_str()
            .is_some_and(|name| name.starts_with(".minions.") && name.ends_with('p'));
        if !is_list {
            let is_dir = || entry.file_type().is_ok_and(|kind| kind.is_dir());
            let id = name.to_str().and_then(visible_id);
            ids.extend(
                id.filter(|_| with_returned && is_dir())
                    .map(|id| id.to_string()),
            );
            continue;
        }
        let path = entry.path();
        match undamaged(load(&path))? {
            None => {}
            Some(Value::List(list)) => {
                ids.extend(list.iter().filter_map(Value::as_str).map(ToOwned::to_owned));
            }
            Some(other) => return Err(StoreError::kind(path.display(), &other, "list")),
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids.into_iter().map(Value::from).collect())
}

fn visible_id(name: &str) -> Option<MinionId> {
    if name.starts_with('.') {
        return None;
    }
    MinionId::parse(name).ok()
}
