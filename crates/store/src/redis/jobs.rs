//! Jobs, in the layout of Salt's returner `redis` (3006.30,
//! `salt/returners/redis_return.py`): `load:<jid>` is what was published,
//! `ret:<jid>` are the returns by minion, `<minion>:<fun>` is the last job of a
//! function, `minions` are all that ever returned. All of it is JSON.

use std::fmt::Display;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use halite_proto::json::{self, Style};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value, time};
use halite_store_servers::{RedisServer, redis_server};
use redis::Script;

use super::job_index::entry;
use super::{RedisOptions, now_s};
use crate::error::StoreError;
use crate::kept::Saved;
use crate::limits::{JID_TRIES_MAX, OWN_JID_TRIES_MAX};
use crate::packing::load_of_return;

/// All jobs by id, with what is searched for.
pub(super) const INDEX: &str = "halite:jobs";
/// When each job was prepared.
pub(super) const PREPARED: &str = "halite:prepared";
/// When each publisher was noted.
pub(super) const PUBLISHERS: &str = "halite:publishers";

/// Most bytes of the name of a last job: its function is free text of a minion.
const LAST_BYTES_MAX: usize = 512;

/// The jobs of a Redis.
#[derive(Debug)]
pub(crate) struct Jobs {
    pub(super) server: Arc<RedisServer>,
    keep: Duration,
    /// What the names of others' values begin with.
    taken: [String; 6],
}

pub(super) fn load_key(jid: impl Display) -> String {
    format!("load:{jid}")
}

pub(super) fn returns_key(jid: impl Display) -> String {
    format!("ret:{jid}")
}

/// What Salt does not keep of a job: `nocache`, `owner`, `endtime`, `batch`.
pub(super) fn notes_key(jid: impl Display) -> String {
    format!("halite:job:{jid}")
}

pub(super) fn minions_key(jid: impl Display) -> String {
    format!("halite:minions:{jid}")
}

/// Takes an id; the owner it has if it is taken.
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

/// Stores a return; what is stored already is given back.
static SAVE_RETURN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('HGET', KEYS[3], 'nocache') == '1' then return {'nocache'} end \
         local known = redis.call('HGET', KEYS[2], ARGV[1]) \
         if known then return {'known', known} end \
         local ttl = ARGV[3] \
         local function keep(key) \
           if ttl ~= '0' then redis.call('EXPIRE', key, ttl) end end \
         if redis.call('EXISTS', KEYS[1]) == 0 then \
           redis.call('SET', KEYS[1], ARGV[4]) keep(KEYS[1]) \
           redis.call('HSET', KEYS[3], 'returned', '1') keep(KEYS[3]) \
           redis.call('ZADD', KEYS[5], 0, ARGV[5]) \
           redis.call('ZADD', KEYS[6], 'NX', ARGV[6], ARGV[7]) end \
         if redis.call('HGET', KEYS[3], 'returned') == '1' then \
           redis.call('SADD', KEYS[4], ARGV[1]) keep(KEYS[4]) end \
         redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) keep(KEYS[2]) \
         redis.call('SADD', KEYS[7], ARGV[1]) \
         if KEYS[8] then redis.call('SET', KEYS[8], ARGV[7]) keep(KEYS[8]) end \
         return {'stored'}",
    )
});

impl Jobs {
    pub(super) fn new(options: &RedisOptions) -> Self {
        Self {
            server: redis_server(&options.address),
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
    fn last_key(&self, id: &MinionId, fun: &str) -> Option<String> {
        let last = format!("{id}:{fun}");
        let is_free = !self.taken.iter().any(|taken| last.starts_with(taken));
        (is_free && last.len() <= LAST_BYTES_MAX).then_some(last)
    }

    /// Seconds that jobs are kept; 0 for ever.
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
        Ok(self.server.run(async move |redis| {
            let mut script = TAKE.prepare_invoke();
            script
                .key(notes_key(&jid))
                .key(load_key(&jid))
                .key(returns_key(&jid));
            script.key(PREPARED).arg(owner).arg(u8::from(nocache));
            script.arg(now_s()).arg(jid).arg(ttl);
            Ok(script.invoke_async(redis).await?)
        })?)
    }

    fn taken(&self, tries: usize) -> StoreError {
        StoreError::JidsTaken {
            place: self.server.address().to_string(),
            tries,
        }
    }

    pub(crate) fn prepare(&self, jid: &Jid, nocache: bool) -> Result<(), StoreError> {
        let (jid, ttl) = (jid.to_string(), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            let notes = notes_key(&jid);
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
        let keys = [notes_key(jid), load_key(jid), returns_key(jid)];
        Ok(self.server.run(async move |redis| {
            let found: usize = redis::cmd("EXISTS").arg(&keys).query_async(redis).await?;
            Ok(found > 0)
        })?)
    }

    pub(crate) fn has_load(&self, jid: &Jid) -> Result<bool, StoreError> {
        let key = load_key(jid);
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
        let (jid, ttl) = (jid.to_string(), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            let key = load_key(&jid);
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
                let key = minions_key(&jid);
                all.cmd("SADD").arg(&key).arg(minions).ignore();
                expire(&mut all, &key, ttl);
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
        let (key, minions, ttl) = (minions_key(jid), names(minions), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("SADD").arg(&key).arg(minions).ignore();
            expire(&mut all, &key, ttl);
            Ok(all.query_async(redis).await?)
        })?)
    }

    pub(crate) fn save_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Saved, StoreError> {
        let json = self.json(jid, &salts_return(jid, id, ret).into())?;
        let mut load = load_of_return(jid, id, ret);
        load.insert("jid", jid);
        let load_json = self.json(jid, &load.clone().into())?;
        let last = self.last_key(id, &halite_proto::python::str(&ret.fun.to_value()));
        let entry = entry(jid, &load);
        let (jid, id, sent, ttl) = (jid.to_string(), id.to_string(), json.clone(), self.ttl());
        let answer: Vec<Vec<u8>> = self.server.run(async move |redis| {
            let mut script = SAVE_RETURN.prepare_invoke();
            script
                .key(load_key(&jid))
                .key(returns_key(&jid))
                .key(notes_key(&jid));
            script
                .key(minions_key(&jid))
                .key(INDEX)
                .key(PREPARED)
                .key("minions");
            if let Some(last) = last {
                script.key(last);
            }
            script.arg(id).arg(sent).arg(ttl).arg(load_json).arg(entry);
            script.arg(now_s()).arg(jid);
            Ok(script.invoke_async(redis).await?)
        })?;
        Ok(match answer.as_slice() {
            [word] if word == b"nocache" => Saved::NoCache,
            [word, known] if word == b"known" => Saved::Duplicate {
                differs: *known != json.as_bytes() && differ(known, json.as_bytes()),
            },
            _ => Saved::Stored,
        })
    }

    pub(crate) fn save_endtime(&self, jid: &Jid, endtime: &str) -> Result<(), StoreError> {
        self.note(jid, "endtime", endtime.as_bytes().to_vec())
    }

    /// Keeps something of a job that Salt does not keep.
    pub(super) fn note(
        &self,
        jid: &Jid,
        name: &'static str,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        let (key, ttl) = (notes_key(jid), self.ttl());
        Ok(self.server.run(async move |redis| {
            let mut all = redis::pipe();
            all.atomic();
            all.cmd("HSET").arg(&key).arg(name).arg(value).ignore();
            expire(&mut all, &key, ttl);
            Ok(all.query_async(redis).await?)
        })?)
    }

    fn json(&self, jid: &Jid, value: &Value) -> Result<String, StoreError> {
        let style = Style {
            default: Some(halite_proto::python::str),
            ..Style::default()
        };
        json::write(value, style).map_err(|source| StoreError::Json {
            place: format!("{}: {jid}", self.server.address()),
            source,
        })
    }
}

/// Whether two returns say different things: a minion or a master of Salt's writes
/// the same in other words.
fn differ(known: &[u8], new: &[u8]) -> bool {
    let read = |bytes: &[u8]| json::read(std::str::from_utf8(bytes).ok()?).ok();
    let (Some(known), Some(new)) = (read(known), read(new)) else {
        return true;
    };
    ["return", "retcode", "success"].iter().any(|name| {
        let both = known.get(name).zip(new.get(name));
        both.is_some_and(|(known, new)| known != new)
    })
}

/// A return as Salt's master gives it to a returner.
fn salts_return(jid: &Jid, id: &MinionId, ret: &JobReturn) -> Map {
    let mut map = ret.to_map();
    map.insert("cmd", "_return");
    map.insert("jid", jid);
    map.insert("id", id);
    map
}

pub(super) fn expire(all: &mut redis::Pipeline, key: &str, ttl: u64) {
    if ttl > 0 {
        all.cmd("EXPIRE").arg(key).arg(ttl).ignore();
    }
}

fn names(minions: &[MinionId]) -> Vec<String> {
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
