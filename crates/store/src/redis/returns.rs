//! Returns of minions.

use std::sync::LazyLock;

use halite_proto::json;
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId};
use halite_store_servers::RedisConnection;
use redis::{RedisResult, Script};

use super::job_index::entry;
use super::jobs::Jobs;
use super::keys::{INDEX, JobKeys, MINIONS, PREPARED};
use super::{by_slot, now_s};
use crate::error::StoreError;
use crate::kept::Saved;
use crate::limits::FILE_BYTES_MAX;
use crate::packing::load_of_return;

/// Stores a return; what is stored already is given back, unless it is longer than what is
/// read.
static SAVE_RETURN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('HGET', KEYS[3], 'nocache') == '1' then return {'nocache'} end \
         local known = redis.call('HGET', KEYS[2], ARGV[1]) \
         if known and #known > tonumber(ARGV[8]) then known = '' end \
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

/// A return in its stored form.
pub(super) struct NewReturn {
    pub(super) jid: String,
    pub(super) id: String,
    pub(super) json: String,
    /// The job's load, as far as the return implies it.
    pub(super) load: String,
    /// The load in the index.
    pub(super) entry: String,
    /// Where the last job of the function is noted.
    pub(super) last: Option<String>,
    pub(super) ttl: u64,
}

impl NewReturn {
    async fn save(self, redis: &mut RedisConnection, keys: JobKeys) -> RedisResult<Vec<Vec<u8>>> {
        let jid = &self.jid;
        let mut script = SAVE_RETURN.prepare_invoke();
        script
            .key(keys.load(jid))
            .key(keys.returns(jid))
            .key(keys.notes(jid));
        script
            .key(keys.minions(jid))
            .key(INDEX)
            .key(PREPARED)
            .key(MINIONS);
        if let Some(last) = &self.last {
            script.key(last);
        }
        script.arg(&self.id).arg(&self.json).arg(self.ttl);
        script.arg(&self.load).arg(&self.entry);
        script.arg(now_s()).arg(jid).arg(FILE_BYTES_MAX);
        script.invoke_async(redis).await
    }
}

impl Jobs {
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
        let new = NewReturn {
            entry: entry(jid, &load),
            jid: jid.to_string(),
            id: id.to_string(),
            json: json.clone(),
            load: load_json,
            last,
            ttl: self.ttl(),
        };
        let keys = self.keys;
        let answer: Vec<Vec<u8>> = self.server.run(async move |redis| match keys.is_cluster {
            true => Ok(by_slot::save_return(redis, keys, new).await?),
            false => Ok(new.save(redis, keys).await?),
        })?;
        Ok(match answer.as_slice() {
            [word] if word == b"nocache" => Saved::NoCache,
            [word, known] if word == b"known" => Saved::Duplicate {
                differs: *known != json.as_bytes() && differ(known, json.as_bytes()),
            },
            _ => Saved::Stored,
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
