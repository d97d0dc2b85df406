//! The state of a job in batches that a program of Salt's has begun and leaves
//! to the master (`.batch.p` beside the job, `batch_active.p` above all jobs).

use std::path::PathBuf;

use halite_proto::msgpack::pack_modern;
use halite_proto::{Jid, Map, Value};

use super::atomic::{load, put};
use super::jobs::Jobs;
use crate::error::StoreError;

const STATE: &str = ".batch.p";
const ACTIVE: &str = "batch_active.p";

impl Jobs {
    pub(crate) fn batch(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        match load(&self.job_dir(jid).join(STATE))? {
            Some(Value::Map(state)) => Ok(Some(state)),
            _ => Ok(None),
        }
    }

    pub(crate) fn put_batch(&self, jid: &Jid, state: &Map) -> Result<(), StoreError> {
        write(self.job_dir(jid).join(STATE), &state.clone().into())
    }

    pub(crate) fn active_batches(&self) -> Result<Vec<Jid>, StoreError> {
        let Some(Value::List(jids)) = load(&self.active_path())? else {
            return Ok(Vec::new());
        };
        let jids = jids.iter().filter_map(Value::as_str);
        Ok(jids.filter_map(|jid| Jid::parse(jid).ok()).collect())
    }

    pub(crate) fn begin_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let mut jids = self.active_batches()?;
        if !jids.contains(jid) {
            jids.push(jid.clone());
        }
        self.put_active(&jids)
    }

    pub(crate) fn end_batch(&self, jid: &Jid) -> Result<(), StoreError> {
        let mut jids = self.active_batches()?;
        if !jids.contains(jid) {
            return Ok(());
        }
        jids.retain(|known| known != jid);
        self.put_active(&jids)
    }

    fn put_active(&self, jids: &[Jid]) -> Result<(), StoreError> {
        let jids = jids.iter().map(Value::from).collect();
        write(self.active_path(), &Value::List(jids))
    }

    /// Beside the directory of all jobs.
    fn active_path(&self) -> PathBuf {
        self.dir.with_file_name(ACTIVE)
    }
}

fn write(path: PathBuf, value: &Value) -> Result<(), StoreError> {
    match pack_modern(value) {
        Ok(packed) => put(&path, &packed),
        Err(source) => Err(StoreError::pack(path.display(), source)),
    }
}

#[cfg(test)]
mod tests {
    use halite_crypto::HashType;

    use super::*;

    #[test]
    fn the_state_is_read_and_written_where_salt_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Jobs::new(dir.path(), HashType::Sha256);
        let jid = Jid::parse("20261120222423196046").unwrap();
        cache.prepare(&jid, false).unwrap();
        assert_eq!(cache.batch(&jid).unwrap(), None);
        let state = Map::from([("driver", "master")]);
        cache.put_batch(&jid, &state).unwrap();
        assert_eq!(cache.batch(&jid).unwrap(), Some(state));
        cache.end_batch(&jid).unwrap();
        let other = Jid::parse("20200101000000000000").unwrap();
        for jid in [&jid, &other, &jid] {
            cache.begin_batch(jid).unwrap();
        }
        assert_eq!(
            cache.active_batches().unwrap(),
            [jid.clone(), other.clone()]
        );
        cache.end_batch(&jid).unwrap();
        assert_eq!(cache.active_batches().unwrap(), [other]);
        assert!(dir.path().join(ACTIVE).is_file());
    }
}
