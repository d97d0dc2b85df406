//! In a cluster, does in several steps what one script does on one server, because
//! scripts see one slot: a bank, the list of all banks and the times of a bank are
//! in three.
//!
//! A time is written before the value and after it, and removed before the value. A
//! master that stops in between has told the others that something changed, and a
//! repetition still finds the value. A bank leaves the list only if it stays empty,
//! so nothing that another master stores at the same time is lost from it.

use std::sync::LazyLock;

use halite_store_servers::RedisConnection;
use redis::{RedisResult, Script};

use super::{Names, stamp};

static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local known = redis.call('HGET', KEYS[1], ARGV[1]) \
         if (ARGV[2] == '') ~= (known == false) then return 0 end \
         if known and known ~= ARGV[3] then return 0 end \
         redis.call('HSET', KEYS[1], ARGV[1], ARGV[4]) \
         return 1",
    )
});

pub(super) async fn replace(
    redis: &mut RedisConnection,
    names: &Names,
    key: &str,
    expected: Option<Vec<u8>>,
    bytes: Vec<u8>,
) -> RedisResult<bool> {
    let () = note_time(names, key).query_async(redis).await?;
    let mut script = REPLACE.prepare_invoke();
    script.key(&names.bank).arg(key);
    script.arg(if expected.is_some() { "1" } else { "" });
    script.arg(expected.unwrap_or_default()).arg(bytes);
    let is_done: bool = script.invoke_async(redis).await?;
    if is_done {
        let mut all = redis::pipe();
        list(&mut all, &names.all, &names.bank);
        let () = all.query_async(redis).await?;
        let () = note_time(names, key).query_async(redis).await?;
    }
    Ok(is_done)
}

/// Records that a value has changed, or is about to.
pub(super) fn note_time(names: &Names, key: &str) -> redis::Cmd {
    let mut note = redis::cmd("HSET");
    note.arg(&names.stamps).arg(key).arg(stamp());
    note
}

pub(super) async fn flush_key(
    redis: &mut RedisConnection,
    names: &Names,
    key: &str,
) -> RedisResult<bool> {
    let mut time = redis::cmd("HDEL");
    let () = time.arg(&names.stamps).arg(key).query_async(redis).await?;
    let mut all = redis::pipe();
    all.cmd("HDEL").arg(&names.bank).arg(key);
    all.cmd("EXISTS").arg(&names.bank);
    let (was_there, is_left): (bool, bool) = all.query_async(redis).await?;
    if !is_left {
        leave_list(redis, &names.all, std::slice::from_ref(&names.bank)).await?;
    }
    Ok(was_there)
}

/// Whether there was anything.
pub(super) async fn flush_banks(
    redis: &mut RedisConnection,
    all_banks: &str,
    banks: &[String],
    times: &[String],
) -> RedisResult<bool> {
    let mut all = redis::pipe();
    let mut first = redis::pipe();
    for key in times {
        first.cmd("UNLINK").arg(key).ignore();
    }
    let () = first.query_async(redis).await?;
    for key in banks {
        all.cmd("UNLINK").arg(key);
    }
    let gone: Vec<u64> = all.query_async(redis).await?;
    leave_list(redis, all_banks, banks).await?;
    Ok(gone.iter().any(|gone| *gone > 0))
}

/// Removes banks from the list, and puts back those that were filled meanwhile.
async fn leave_list(
    redis: &mut RedisConnection,
    all_banks: &str,
    banks: &[String],
) -> RedisResult<()> {
    let mut leave = redis::cmd("ZREM");
    let () = leave.arg(all_banks).arg(banks).query_async(redis).await?;
    let mut ask = redis::pipe();
    for bank in banks {
        ask.cmd("EXISTS").arg(bank);
    }
    let are_filled: Vec<bool> = ask.query_async(redis).await?;
    let filled = banks
        .iter()
        .zip(are_filled)
        .filter(|(_, is_filled)| *is_filled);
    let mut back = redis::pipe();
    for (bank, _) in filled {
        list(&mut back, all_banks, bank);
    }
    match back.is_empty() {
        true => Ok(()),
        false => back.query_async(redis).await,
    }
}

fn list(all: &mut redis::Pipeline, banks: &str, bank: &str) {
    all.cmd("ZADD").arg(banks).arg(0).arg(bank).ignore();
}
