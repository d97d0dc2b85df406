//! In a cluster, does in several steps what one script does on one server, because
//! scripts see one slot.
//!
//! Our record of a job, its minions and its returns are in one slot, and decide.
//! Keys that Salt's names put elsewhere are written after that, in a way that can
//! be repeated: a minion that got no answer, or whose master died in between, sends
//! the return once more.

use std::sync::LazyLock;

use halite_store_servers::RedisConnection;
use redis::{RedisResult, Script};

use super::keys::{INDEX, JobKeys, MINIONS, PREPARED};
use super::now_s;
use super::returns::NewReturn;
use crate::limits::FILE_BYTES_MAX;

/// Takes an id without a load; returns its owner if it is taken.
static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then \
           return redis.call('HGET', KEYS[1], 'owner') or '' end \
         if ARGV[4] == '1' then return '' end \
         redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'nocache', ARGV[2]) \
         if ARGV[3] ~= '0' then redis.call('EXPIRE', KEYS[1], ARGV[3]) end \
         return false",
    )
});

/// Stores a return, and says of the job whether it is known by its returns alone; what
/// is stored already is given back.
static SAVE_RETURN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('HGET', KEYS[2], 'nocache') == '1' then return {'nocache'} end \
         local known = redis.call('HGET', KEYS[1], ARGV[1]) \
         local ttl = ARGV[3] \
         local function keep(key) \
           if ttl ~= '0' then redis.call('EXPIRE', key, ttl) end end \
         if not known then \
           if ARGV[4] == '0' then \
             redis.call('HSET', KEYS[2], 'returned', '1') keep(KEYS[2]) end \
           if redis.call('HGET', KEYS[2], 'returned') == '1' then \
             redis.call('SADD', KEYS[3], ARGV[1]) keep(KEYS[3]) end \
           redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) keep(KEYS[1]) end \
         local returned = redis.call('HGET', KEYS[2], 'returned') or '0' \
         if known and #known > tonumber(ARGV[5]) then known = '' end \
         if known then return {returned, 'known', known} end \
         return {returned, 'stored'}",
    )
});

/// Takes an id. Salt's master takes it only with the load.
pub(super) async fn take(
    redis: &mut RedisConnection,
    keys: JobKeys,
    jid: &str,
    owner: &str,
    nocache: bool,
    ttl: u64,
) -> RedisResult<Option<Vec<u8>>> {
    let has_load = has_load(redis, keys, jid).await?;
    let mut script = TAKE.prepare_invoke();
    script.key(keys.notes(jid)).key(keys.returns(jid));
    script.arg(owner).arg(u8::from(nocache)).arg(ttl);
    script.arg(u8::from(has_load));
    let owner: Option<Vec<u8>> = script.invoke_async(redis).await?;
    if owner.is_none() {
        let mut note = redis::cmd("ZADD");
        let note = note.arg(PREPARED).arg(now_s()).arg(jid);
        let () = note.query_async(redis).await?;
    }
    Ok(owner)
}

/// Stores a return; the answer is that of the script for one server.
pub(super) async fn save_return(
    redis: &mut RedisConnection,
    keys: JobKeys,
    new: NewReturn,
) -> RedisResult<Vec<Vec<u8>>> {
    let has_load = has_load(redis, keys, &new.jid).await?;
    let mut script = SAVE_RETURN.prepare_invoke();
    script
        .key(keys.returns(&new.jid))
        .key(keys.notes(&new.jid))
        .key(keys.minions(&new.jid));
    script.arg(&new.id).arg(&new.json).arg(new.ttl);
    script.arg(u8::from(has_load)).arg(FILE_BYTES_MAX);
    let mut answer: Vec<Vec<u8>> = script.invoke_async(redis).await?;
    if answer.len() < 2 {
        return Ok(answer);
    }
    let is_known_by_returns = answer.remove(0) == b"1";
    let is_known = answer.len() > 1;
    if is_known_by_returns && !has_load {
        save_load(redis, keys, &new).await?;
    }
    let mut all = redis::pipe();
    all.cmd("SADD").arg(MINIONS).arg(&new.id).ignore();
    if let Some(last) = &new.last {
        let note = all.cmd("SET").arg(last).arg(&new.jid);
        if is_known {
            // A later job may have been noted since.
            note.arg("NX");
        }
        if new.ttl > 0 {
            note.arg("EX").arg(new.ttl);
        }
        note.ignore();
    }
    let () = all.query_async(redis).await?;
    Ok(answer)
}

/// The load that the first return implies. If this is interrupted after the load, a
/// search adds the job to the index.
async fn save_load(redis: &mut RedisConnection, keys: JobKeys, new: &NewReturn) -> RedisResult<()> {
    let mut set = redis::cmd("SET");
    set.arg(keys.load(&new.jid)).arg(&new.load).arg("NX");
    if new.ttl > 0 {
        set.arg("EX").arg(new.ttl);
    }
    let is_new: Option<String> = set.query_async(redis).await?;
    if is_new.is_none() {
        return Ok(());
    }
    let mut all = redis::pipe();
    all.cmd("ZADD").arg(INDEX).arg(0).arg(&new.entry).ignore();
    let note = all.cmd("ZADD").arg(PREPARED).arg("NX");
    note.arg(now_s()).arg(&new.jid).ignore();
    all.query_async(redis).await
}

async fn has_load(redis: &mut RedisConnection, keys: JobKeys, jid: &str) -> RedisResult<bool> {
    let mut ask = redis::cmd("EXISTS");
    ask.arg(keys.load(jid)).query_async(redis).await
}
