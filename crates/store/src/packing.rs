//! The packed form of a job's record, the same for every backend.

use std::fmt::Display;

use halite_proto::msgpack::{Entries, PackError, Packing, Writer, pack_map, packed_len};
use halite_proto::request::{COMMITS, Commits};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value};

use crate::error::StoreError;

/// The `cmd` of what is known of a job from its returns alone.
pub(crate) const FROM_RETURN: &str = "_return";

/// The load of a job that was not published here: `salt-call`, a schedule, or
/// another master's job.
pub fn load_of_return(jid: &Jid, id: &MinionId, ret: &JobReturn) -> Map {
    let mut load = Map::from([
        ("cmd", Value::from(FROM_RETURN)),
        ("id", Value::from(id)),
        ("jid", Value::from(jid)),
        ("fun", ret.fun.to_value()),
        ("fun_args", Value::List(ret.fun_args.clone())),
        ("arg", Value::List(ret.fun_args.clone())),
        ("tgt", Value::from(id)),
        ("tgt_type", Value::from("glob")),
    ]);
    if let Some(user) = &ret.user {
        load.insert("user", user.as_str());
    }
    if let Some(metadata) = &ret.metadata {
        load.insert("metadata", metadata.clone());
    }
    load
}

fn pack(place: impl Display, value: &Value) -> Result<Vec<u8>, StoreError> {
    halite_proto::msgpack::pack_modern(value).map_err(|source| StoreError::pack(place, source))
}

pub(crate) fn pack_out(place: impl Display, out: &str) -> Result<Vec<u8>, StoreError> {
    pack(place, &Value::from(out))
}

pub(crate) fn pack_minions(
    place: impl Display,
    mut ids: Vec<String>,
) -> Result<Vec<u8>, StoreError> {
    ids.sort_unstable();
    ids.dedup();
    let list = Value::List(ids.into_iter().map(Value::from).collect());
    pack(place, &list)
}

pub(crate) fn pack_load(place: impl Display, load: &Map) -> Result<Vec<u8>, StoreError> {
    pack_map(load, Packing::Modern).map_err(|source| StoreError::pack(place, source))
}

/// The commits that a return's files came from.
pub(crate) fn commits_of(ret: &JobReturn) -> Commits {
    let commits = ret.extra.get(COMMITS);
    commits.map(Commits::from_value).unwrap_or_default()
}

/// Them, for a place that holds nothing else.
pub(crate) fn pack_commits(place: impl Display, commits: &Commits) -> Result<Vec<u8>, StoreError> {
    pack(place, &commits.to_value())
}

/// `return`, `retcode` and `success`, as they came.
pub(crate) fn pack_return(place: impl Display, ret: &JobReturn) -> Result<Vec<u8>, StoreError> {
    pack_with(place, ret, &Commits::default())
}

/// The same of a return whose value is a map of these entries.
pub(crate) fn pack_return_of(
    place: impl Display,
    ret: &JobReturn,
    value: &Entries,
) -> Result<Vec<u8>, StoreError> {
    pack_around(place, ret, &Commits::default(), value.bytes(), |writer| {
        value.begin_map(writer, 0)
    })
}

/// The same with the commits, for places that no program of Salt's reads.
pub(crate) fn pack_own_return(place: impl Display, ret: &JobReturn) -> Result<Vec<u8>, StoreError> {
    pack_with(place, ret, &commits_of(ret))
}

fn pack_with(
    place: impl Display,
    ret: &JobReturn,
    commits: &Commits,
) -> Result<Vec<u8>, StoreError> {
    let bytes = packed_len(&ret.ret, Packing::Modern);
    pack_around(place, ret, commits, bytes, |writer| writer.value(&ret.ret))
}

/// A return around a value of so many bytes, which `value` writes.
fn pack_around(
    place: impl Display,
    ret: &JobReturn,
    commits: &Commits,
    bytes: usize,
    value: impl FnOnce(&mut Writer) -> Result<(), PackError>,
) -> Result<Vec<u8>, StoreError> {
    const AROUND_BYTES: usize = 64;
    let write = || {
        let mut writer = Writer::with_capacity(Packing::Modern, bytes + AROUND_BYTES);
        writer.begin_map(if commits.is_empty() { 3 } else { 4 })?;
        writer.str("return")?;
        value(&mut writer)?;
        writer.str("retcode")?;
        match &ret.several {
            None => writer.int(ret.retcode.into()),
            Some(several) => writer.value(&several.retcodes)?,
        }
        writer.str("success")?;
        match &ret.several {
            None => writer.bool(ret.success),
            Some(several) => writer.value(&several.successes)?,
        }
        if !commits.is_empty() {
            writer.str(COMMITS)?;
            writer.value(&commits.to_value())?;
        }
        Ok(writer.into_bytes())
    };
    write().map_err(|source| StoreError::pack(place, source))
}

/// A publish request as it may be kept: nothing in it opens a door.
pub(crate) fn without_secrets(load: &Map) -> Map {
    const SECRETS: [&str; 3] = ["key", "token", "password"];
    let mut load = load.clone();
    for secret in SECRETS {
        load.remove(secret);
        if let Some(Value::Map(kwargs)) = load.get_mut("kwargs") {
            kwargs.remove(secret);
        }
    }
    load
}
