//! Jobs, in the layout of Salt's returner `redis` (3006.30,
//! `salt/returners/redis_return.py`): `load:<jid>` is what was published,
//! `ret:<jid>` are the returns by minion, `<minion>:<fun>` is the last job of a
//! function, `minions` are all that ever returned. All of it is JSON.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use halite_proto::json::{self, Style};
use halite_proto::{Jid, Map, MinionId, Value, time};
use halite_store_servers::{RedisServer, redis_server};
use redis::Script;

use super::by_slot;
use super::job_index::entry;
use super::keys::{INDEX, JobKeys, PREPARED};
use super::{RedisOptions, now_s};
use crate::error::StoreError;
use crate::limits::{FILE_BYTES_MAX, JID_TRIES_MAX, OWN_JID_TRIES_MAX};

/// Most bytes of the name of a last job: its function is free text of a minion.
const LAST_BYTES_MAX: usize = 512;

/// The jobs of a Redis.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(super) server: Arc<RedisServer>,
    pub(super) keys: JobKeys,
    keep: Duration,
    /// The prefixes of values that belong to others.
    taken: [String; 6],
}

/// Takes an id; returns its owner if it is taken.
static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then \
           return redis.call('HGET', KEYS[1], 'owner') or '' end \
         redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'nocache', ARGV[2]) \
         redis.call('ZADD', KEYS[4], ARGV[3], ARGV[4]) \
         if ARGV[5] ~= '0' then redis.call('EXPIRE', KEYS[1], ARGV[5]) end \
         return false",
    )
});

impl Jobs {
    pub(super) fn new(options: &RedisOptions) -> Self {
        Self {
            server: redis_server(&options.address),
            keys: JobKeys {
                is_cluster: options.address.cluster.is_some(),
            },
            keep: options.keep_jobs,
            taken: [
                "load:".to_owned(),
                "ret:".to_owned(),
                "halite:".to_owned(),
                options.names.banks.clone(),
                options.names.keys.clone(),
                options.names.stamps.clone(),
            ],
        }
    }

    /// Where the last job of a function is noted, unless that is the name of
    /// something else or too long: both parts are a minion's words.
    pub(super) fn last_key(&self, id: &MinionId, fun: &str) -> Option<String> {
        let last = format!("{id}:{fun}");
        let is_free = !self.taken.iter().any(|taken| last.starts_with(taken));
        (is_free && last.len() <= LAST_BYTES_MAX).then_some(last)
    }

    /// Seconds that jobs are kept; 0 means without a limit.
    pub(super) fn ttl(&self) -> u64 {
        self.keep.as_secs()
    }

    pub(crate) fn allocate(
        &self,
        nocache: bool,
        mut next: impl FnMut() -> Jid,
    ) -> Result<Jid, StoreError> {
        for _ in 0..JID_TRIES_MAX {
            let jid = next();
            if self.take(&jid, "", nocache)?.is_none() {
                return Ok(jid);
            }
        }
        Err(self.taken(JID_TRIES_MAX))
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
            match self.take(&jid, &owner, false)? {
                None => return Ok(jid),
                Some(known) if known == owner.as_bytes() => return Ok(jid),
                Some(_) => {}
            }
        }
        let tries = usize::try_from(OWN_JID_TRIES_MAX).unwrap_or(usize::MAX);
        Err(self.taken(tries))
    }

    fn take(&self, jid: &Jid, owner: &str, nocache: bool) -> Result<Option<Vec<u8>>, StoreError> {
        let (jid, owner, ttl) = (jid.to_string(), owner.to_owned(), self.ttl());
        let keys = self.keys;
        Ok(self.server.run(async move |redis| {
            if keys.is_cluster {
                return Ok(by_slot::take(redis, keys, &jid, &owner, nocache, ttl).await?);
            }
            let mut script = TAKE.prepare_invoke();
            script
                .key(keys.notes(&jid))
                .key(keys.load(&jid))
                .key(keys.returns(&jid));
            script.key(PREPARED).arg(owner).arg(u8::from(nocache));
            script.arg(now_s()).arg(jid).arg(ttl);
            Ok(script.invoke_async(redis).await?)
        })?)
    }

    pub(super) fn taken(&self, tries: usize) -> StoreError {
        StoreError::JidsTaken {
            place: self.server.address().to_string(),
            tries,
        }
    }

    pub(crate) fn prepare(&self, jid: &Jid, nocache: bool) -> Result<(), StoreError> {
        let notes = self.keys.notes(jid);
        let (jid, ttl) = (jid.to_string(), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            if nocache {
                all.cmd("HSET").arg(&notes).arg("nocache").arg(1).ignore();
            } else {
                all.cmd("HSETNX").arg(&notes).arg("nocache").arg(0).ignore();
            }
            expire(&mut all, &notes, ttl);
            all.cmd("ZADD").arg(PREPARED).arg(now_s()).arg(jid).ignore();
            Ok(all.query_async(redis).await?)
        })?)
    }

    pub(crate) fn knows(&self, jid: &Jid) -> Result<bool, StoreError> {
        let keys = [
            self.keys.notes(jid),
            self.keys.load(jid),
            self.keys.returns(jid),
        ];
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            for key in &keys {
                all.cmd("EXISTS").arg(key);
            }
            let found: Vec<bool> = all.query_async(redis).await?;
            Ok(found.contains(&true))
        })?)
    }

    pub(crate) fn has_load(&self, jid: &Jid) -> Result<bool, StoreError> {
        let key = self.keys.load(jid);
        Ok(self
            .server
            .run(async move |redis| Ok(redis::cmd("EXISTS").arg(key).query_async(redis).await?))?)
    }

    pub(crate) fn save_load(
        &self,
        jid: &Jid,
        load: &Map,
        minions: Option<&[MinionId]>,
    ) -> Result<(), StoreError> {
        let mut load = load.clone();
        // Salt's readers look for it there.
        load.insert("jid", jid);
        let json = self.json(jid, &load.clone().into())?;
        let entry = entry(jid, &load);
        let minions = names(minions.unwrap_or_default());
        let (key, minions_key) = (self.keys.load(jid), self.keys.minions(jid));
        let (jid, ttl) = (jid.to_string(), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("SET").arg(&key).arg(json).ignore();
            expire(&mut all, &key, ttl);
            all.cmd("ZADD").arg(INDEX).arg(0).arg(entry).ignore();
            all.cmd("ZADD")
                .arg(PREPARED)
                .arg("NX")
                .arg(now_s())
                .arg(&jid)
                .ignore();
            if !minions.is_empty() {
                all.cmd("SADD").arg(&minions_key).arg(minions).ignore();
                expire(&mut all, &minions_key, ttl);
            }
            Ok(all.query_async(redis).await?)
        })?)
    }

    pub(crate) fn save_minions(
        &self,
        jid: &Jid,
        minions: &[MinionId],
        _syndic: Option<&MinionId>,
    ) -> Result<(), StoreError> {
        if minions.is_empty() {
            return Ok(());
        }
        let (key, minions, ttl) = (self.keys.minions(jid), names(minions), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("SADD").arg(&key).arg(minions).ignore();
            expire(&mut all, &key, ttl);
            Ok(all.query_async(redis).await?)
        })?)
    }

    pub(crate) fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        self.save_field(jid, "endtime", endtime.as_bytes().to_vec())
    }

    /// Stores a field of a job that Salt does not have.
    pub(super) fn save_field(
        &self,
        jid: &Jid,
        name: &'static str,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        let (key, ttl) = (self.keys.notes(jid), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("HSET").arg(&key).arg(name).arg(value).ignore();
            expire(&mut all, &key, ttl);
            Ok(all.query_async(redis).await?)
        })?)
    }

    pub(super) fn json(&self, jid: &Jid, value: &Value) -> Result<String, StoreError> {
        let style = Style {
            default: Some(halite_proto::python::str),
            ..Style::default()
        };
        let place = || format!("{}: {jid}", self.server.address());
        let text = json::write(value, style).map_err(|source| StoreError::Json {
            place: place(),
            source,
        })?;
        let max = usize::try_from(FILE_BYTES_MAX).unwrap_or(usize::MAX);
        match text.len() > max {
            false => Ok(text),
            // It would not be read.
            true => Err(StoreError::TooLarge {
                place: place(),
                bytes: text.len(),
                max,
            }),
        }
    }
}

pub(super) fn expire(all: &mut redis::Pipeline, key: &str, ttl: u64) {
    if ttl > 0 {
        all.cmd("EXPIRE").arg(key).arg(ttl).ignore();
    }
}

pub(super) fn names(minions: &[MinionId]) -> Vec<String> {
    minions.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use halite_store_servers::{Address, ServerKind};

    use super::*;

    #[test]
    fn a_last_job_is_noted_over_nothing_else() {
        let address = Address::new(ServerKind::Redis, "nowhere");
        let jobs = Jobs::new(&RedisOptions::new(address, Duration::ZERO));
        let key = |id: &str, fun: &str| jobs.last_key(&MinionId::parse(id).unwrap(), fun);
        assert_eq!(key("web1", "test.ping").unwrap(), "web1:test.ping");
        for (id, fun) in [
            ("halite", "prepared"),
            ("ret", "20260101000000000000"),
            ("load", "20260101000000000000"),
            ("$KEYS_keys", "x"),
        ] {
            assert_eq!(key(id, fun), None, "{id}:{fun}");
        }
        assert_eq!(key("web1", &"x".repeat(LAST_BYTES_MAX)), None);
    }
}
