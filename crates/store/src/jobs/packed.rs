//! Jobs in files as they are packed there: for lists of very many of them, which only
//! hand the values on.

use halite_proto::msgpack::Entries;
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId};

use super::Jobs;
use crate::backend::Backend;
use crate::error::StoreError;
use crate::kept::{FoundLoad, Saved};
use crate::local_fs;

impl Jobs {
    /// Whether this store has jobs in the form of which the functions here know.
    pub fn is_packed(&self) -> bool {
        self.packed().is_some()
    }

    fn packed(&self) -> Option<&local_fs::Jobs> {
        match &*self.backend {
            Backend::LocalFs(files) if self.waiting.is_none() => Some(&files.jobs),
            _ => None,
        }
    }

    /// What `pick` makes of the newest jobs, newest first and of `max` at most, by what was
    /// published, without who was targeted. It gets that packed, and once more unpacked if
    /// it makes nothing of it. `None` if this store has it in no such form, or has more
    /// jobs than it keeps in memory.
    ///
    /// # Errors
    /// When the jobs cannot be listed.
    pub fn newest_packed<T>(
        &self,
        max: usize,
        pick: impl FnMut(&Jid, FoundLoad<'_>) -> Option<T>,
    ) -> Result<Option<Vec<T>>, StoreError> {
        match self.packed() {
            Some(jobs) => jobs.newest_packed(max, pick),
            None => Ok(None),
        }
    }

    /// As [`save_return`](Self::save_return), where the returned value is the map of these
    /// entries, and not that of `ret`.
    ///
    /// # Errors
    /// When the store cannot be written, or does not keep it in such a form.
    pub fn save_packed_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
        value: &Entries,
    ) -> Result<Saved, StoreError> {
        match self.packed() {
            Some(jobs) => jobs.save_packed_return(jid, id, ret, value),
            None => Err(StoreError::NotPacked),
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_crypto::HashType;
    use halite_proto::msgpack::{Packing, unpack_modern};
    use halite_proto::returns::ReturnJid;
    use halite_proto::{Map, Value};

    use super::*;
    use crate::StoreOptions;

    fn jid(number: usize) -> Jid {
        Jid::parse(format!("20260102030405{number:06}")).unwrap()
    }

    #[test]
    fn a_packed_return_is_stored_as_its_values_are() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions::local_fs(dir.path(), HashType::Sha256);
        let jobs = crate::open(&options).jobs;
        assert!(jobs.is_packed());
        let id = MinionId::parse("m1_master").unwrap();
        let value = Map::from([("fun", Value::from("runner.x")), ("return", 7.into())]);
        let entries = Entries::of(&value, Packing::Modern).unwrap();
        let ret = |number, value: Value| {
            let jid = ReturnJid::Jid(jid(number));
            JobReturn::new(jid, "runner.x".into(), Vec::new(), value, 0)
        };
        let whole = ret(1, value.into());
        let around = ret(2, Value::Nil);
        assert_eq!(
            jobs.save_return(&jid(1), &id, &whole).unwrap(),
            Saved::Stored
        );
        for saved in [Saved::Stored, Saved::Duplicate { differs: false }] {
            let again = jobs.save_packed_return(&jid(2), &id, &around, &entries);
            assert_eq!(again.unwrap(), saved);
        }
        assert_eq!(
            jobs.returns(&jid(2)).unwrap(),
            jobs.returns(&jid(1)).unwrap()
        );
    }

    #[test]
    fn packed_jobs_are_the_newest_ones_and_what_is_damaged_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions::local_fs(dir.path(), HashType::Sha256);
        let jobs = crate::open(&options).jobs;
        for number in 0..4 {
            let load = Map::from([("fun", Value::from("x")), ("jid", (&jid(number)).into())]);
            jobs.save_load(&jid(number), &load, None).unwrap();
            jobs.prepare(&jid(number), false).unwrap();
        }
        // One of which only values are of use, and one of which nothing is.
        let hash = halite_crypto::hash_hex(HashType::Sha256, jid(2).as_str().as_bytes());
        let (shard, rest) = hash.split_at(2);
        let path = dir.path().join("jobs").join(shard).join(rest);
        std::fs::write(path.join(".load.p"), b"\x82\xa3fun").unwrap();
        let mut unpacked = Vec::new();
        let found = jobs.newest_packed(2, |jid, load| match load {
            FoundLoad::Packed(_) if jid.as_str().ends_with('1') => None,
            FoundLoad::Packed(packed) => {
                let value = unpack_modern(packed).ok()?;
                Some(value.get("jid").cloned())
            }
            FoundLoad::Unpacked(load) => {
                unpacked.push(jid.clone());
                Some(load.get("jid").cloned())
            }
        });
        let wanted = [3, 1].map(|number| Some(Value::from(&jid(number))));
        assert_eq!(found.unwrap().unwrap(), wanted);
        assert_eq!(unpacked, [jid(1)]);
    }
}
