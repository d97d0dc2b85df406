//! Reads values of a Redis that are not too long; longer ones are not fetched from the
//! server.

use std::sync::LazyLock;

use halite_store_servers::limits::ANSWER_BYTES_MAX;
use halite_store_servers::{Failure, RedisConnection};
use redis::{ErrorKind, FromRedisValue, RedisError, RedisResult, Script, Value, from_redis_value};

use crate::cache::Found;
use crate::limits::{FILE_BYTES_MAX, JOBS_LISTED_MAX, LISTED_LOAD_BYTES_MAX};

/// Fields of a hash, in order: each is nothing, its value, or the length of one that is too
/// long.
static FIELDS: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local max = tonumber(ARGV[1]) \
         local all = {} \
         for i = 2, #ARGV do \
           local length = redis.call('HSTRLEN', KEYS[1], ARGV[i]) \
           if length > max then all[i - 1] = length \
           else all[i - 1] = redis.call('HGET', KEYS[1], ARGV[i]) end end \
         return all",
    )
});

/// All names of a hash or a set, or whatever a command gives of it; their number if they
/// are more than are listed.
static ALL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local count = redis.call(ARGV[2], KEYS[1]) \
         if count > tonumber(ARGV[3]) then return count end \
         return redis.call(ARGV[1], KEYS[1])",
    )
});

/// All fields of a hash, each before its value; how long they are together if that is more
/// than is read.
static HASH: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local max = tonumber(ARGV[1]) \
         if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[3]) then return {'many'} end \
         local names = redis.call('HKEYS', KEYS[1]) \
         local bytes = 0 \
         for i, name in ipairs(names) do \
           local length = redis.call('HSTRLEN', KEYS[1], name) \
           if length <= max then bytes = bytes + length end \
           bytes = bytes + #name end \
         if bytes > tonumber(ARGV[2]) then return {'long'} end \
         local all = {} \
         for i, name in ipairs(names) do \
           local length = redis.call('HSTRLEN', KEYS[1], name) \
           all[2 * i - 1] = name \
           if length > max then all[2 * i] = length \
           else all[2 * i] = redis.call('HGET', KEYS[1], name) end end \
         return all",
    )
});

pub(crate) async fn fields(
    redis: &mut RedisConnection,
    hash: &str,
    names: &[String],
) -> RedisResult<Vec<Option<Found>>> {
    let mut ask = FIELDS.prepare_invoke();
    ask.key(hash).arg(FILE_BYTES_MAX).arg(names);
    let found: Vec<Value> = ask.invoke_async(redis).await?;
    if found.len() != names.len() {
        return Err(wrong("a hash has other fields than were asked for"));
    }
    found.into_iter().map(value).collect()
}

pub(crate) async fn field(
    redis: &mut RedisConnection,
    hash: &str,
    name: String,
) -> RedisResult<Option<Found>> {
    let found = fields(redis, hash, &[name]).await?;
    Ok(found.into_iter().next().flatten())
}

pub(crate) async fn hash(
    redis: &mut RedisConnection,
    hash: &str,
) -> Result<Vec<(Vec<u8>, Found)>, Failure> {
    let mut ask = HASH.prepare_invoke();
    ask.key(hash).arg(FILE_BYTES_MAX);
    ask.arg(ANSWER_BYTES_MAX).arg(JOBS_LISTED_MAX);
    let found: Vec<Value> = ask.invoke_async(redis).await?;
    match found.as_slice() {
        [Value::BulkString(word)] if word == b"many" => return Err(too_many()),
        [Value::BulkString(word)] if word == b"long" => return Err(Failure::answer_too_long()),
        _ => {}
    }
    let mut all = Vec::with_capacity(found.len() / 2);
    let mut found = found.into_iter();
    while let (Some(name), Some(of_name)) = (found.next(), found.next()) {
        let Value::BulkString(name) = name else {
            return Err(wrong("the name of a field is not text").into());
        };
        if let Some(found) = value(of_name)? {
            all.push((name, found));
        }
    }
    Ok(all)
}

/// What `HKEYS`, `HGETALL` or `SMEMBERS` give of a hash or a set, unless it has more
/// entries than are listed.
pub(crate) async fn all<T: FromRedisValue>(
    redis: &mut RedisConnection,
    command: &'static str,
    key: &str,
) -> Result<T, Failure> {
    let count = match command {
        "SMEMBERS" => "SCARD",
        _ => "HLEN",
    };
    let mut ask = ALL.prepare_invoke();
    ask.key(key).arg(command).arg(count).arg(JOBS_LISTED_MAX);
    match ask.invoke_async(redis).await? {
        Value::Int(_) => Err(too_many()),
        found => Ok(from_redis_value(found).map_err(RedisError::from)?),
    }
}

fn too_many() -> Failure {
    Failure::TooMany {
        max: JOBS_LISTED_MAX,
    }
}

/// Asks for a text of a page; only for the beginning of one that is too long.
pub(crate) fn beginning(key: &str) -> redis::Cmd {
    let mut ask = redis::cmd("GETRANGE");
    ask.arg(key).arg(0).arg(LISTED_LOAD_BYTES_MAX);
    ask
}

/// The whole text, of which this is the beginning.
pub(crate) async fn whole(
    redis: &mut RedisConnection,
    key: &str,
    beginning: Vec<u8>,
) -> RedisResult<Option<Found>> {
    if beginning.len() <= LISTED_LOAD_BYTES_MAX {
        return Ok((!beginning.is_empty()).then_some(Found::Bytes(beginning)));
    }
    let length: u64 = redis::cmd("STRLEN").arg(key).query_async(redis).await?;
    if length > FILE_BYTES_MAX {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        return Ok(Some(Found::TooLarge(length)));
    }
    // It may have grown since.
    let mut ask = redis::cmd("GETRANGE");
    ask.arg(key).arg(0).arg(FILE_BYTES_MAX);
    let bytes: Vec<u8> = ask.query_async(redis).await?;
    Ok((!bytes.is_empty()).then_some(Found::Bytes(bytes)))
}

fn value(found: Value) -> RedisResult<Option<Found>> {
    match found {
        Value::Nil => Ok(None),
        Value::Int(length) => Ok(Some(Found::TooLarge(
            usize::try_from(length).unwrap_or(usize::MAX),
        ))),
        Value::BulkString(bytes) => Ok(Some(Found::Bytes(bytes))),
        _ => Err(wrong("a value is not text")),
    }
}

fn wrong(what: &'static str) -> RedisError {
    (ErrorKind::UnexpectedReturnType, what).into()
}
