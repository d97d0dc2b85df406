//! Reading the job cache.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use halite_proto::{Jid, Map, MinionId, Value};

use crate::atomic::{load, read};
use crate::error::StoreError;
use crate::jobs::{ENDTIME, JID, JobCache, LOAD, OUT, RETURN};

/// A minion's return as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReturn {
    /// `return`, and `retcode` and `success` if they were stored.
    pub data: Map,
    /// The outputter.
    pub out: Option<String>,
}

impl StoredReturn {
    /// The value returned.
    pub fn ret(&self) -> &Value {
        self.data.get("return").unwrap_or(&Value::Nil)
    }

    /// As Salt's readers have it: with `out` among the data.
    pub fn into_map(self) -> Map {
        let mut map = self.data;
        if let Some(out) = self.out {
            map.insert("out", out);
        }
        map
    }
}

impl JobCache {
    /// What was published as a job, with the minions that were meant under
    /// `Minions`; none for an unknown job.
    ///
    /// # Errors
    /// When a file is damaged or cannot be read.
    pub fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let dir = self.job_dir(jid);
        let path = dir.join(LOAD);
        let mut map = match load(&path)? {
            None => return Ok(None),
            Some(Value::Map(map)) => map,
            Some(other) => return Err(kind(&path, &other, "dict")),
        };
        let minions = minions_in(&dir)?;
        if !minions.is_empty() {
            map.insert("Minions", minions);
        }
        Ok(Some(map))
    }

    /// The returns of a job so far, by minion id in order.
    ///
    /// # Errors
    /// When a directory or file cannot be read. A damaged return is left out
    /// with a warning.
    pub fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
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
                    tracing::warn!(%error, "the return is left out");
                }
                Err(error) => return Err(error),
            }
        }
        returns.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(returns)
    }

    /// One minion's return, none if there is none.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn return_of(&self, jid: &Jid, id: &MinionId) -> Result<Option<StoredReturn>, StoreError> {
        stored_return(&self.job_dir(jid).join(id.as_str()))
    }

    /// When the last return came, if that is stored.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        let text = read(&self.job_dir(jid).join(ENDTIME))?;
        Ok(text.map(|text| String::from_utf8_lossy(text.trim_ascii()).into_owned()))
    }

    /// Every job that has a load, in no particular order, read one directory
    /// at a time. What cannot be read is left out.
    pub fn jids(&self) -> impl Iterator<Item = Jid> {
        let shards = entries(self.dir()).unwrap_or_default().into_iter();
        shards
            .flat_map(|shard| entries(&shard.path()).unwrap_or_default())
            // A hidden one is just being made.
            .filter(|job| !job.file_name().as_encoded_bytes().starts_with(b"."))
            .filter_map(|job| {
                let dir = job.path();
                let jid = read(&dir.join(JID)).ok().flatten()?;
                let jid = Jid::parse(String::from_utf8(jid).ok()?).ok()?;
                dir.join(LOAD).exists().then_some(jid)
            })
    }
}

/// The entries of a directory; a missing one has none.
pub(crate) fn entries(dir: &Path) -> Result<Vec<DirEntry>, StoreError> {
    match fs::read_dir(dir).and_then(Iterator::collect) {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(StoreError::list(dir, source)),
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
    Ok(Some(StoredReturn { data, out }))
}

/// The ids in `.minions.p` and the lists of syndics, sorted.
fn minions_in(dir: &Path) -> Result<Vec<Value>, StoreError> {
    let mut ids: Vec<String> = Vec::new();
    for entry in entries(dir)? {
        let name = entry.file_name();
        let is_list = name
            .to_str()
            .is_some_and(|name| name.starts_with(".minions.") && name.ends_with('p'));
        if !is_list {
            continue;
        }
        let path = entry.path();
        match load(&path)? {
            None => {}
            Some(Value::List(list)) => {
                ids.extend(list.iter().filter_map(Value::as_str).map(ToOwned::to_owned));
            }
            Some(other) => return Err(kind(&path, &other, "list")),
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

fn kind(path: &Path, found: &Value, wanted: &'static str) -> StoreError {
    StoreError::Kind {
        path: path.to_owned(),
        found: found.type_name(),
        wanted,
    }
}
