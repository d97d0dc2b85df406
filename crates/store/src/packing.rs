//! What stands in the files of a job.

use std::path::Path;

use halite_proto::msgpack::{Packing, Writer, pack_map, packed_len};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId, Value};

use crate::error::StoreError;

/// The load of a job that was not published here: `salt-call`, a schedule, or
/// another master's job.
pub fn load_of_return(jid: &Jid, id: &MinionId, ret: &JobReturn) -> Map {
    let mut load = Map::from([
        ("cmd", Value::from("_return")),
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

fn pack(path: &Path, value: &Value) -> Result<Vec<u8>, StoreError> {
    halite_proto::msgpack::pack_modern(value).map_err(|source| StoreError::Pack {
        path: path.to_owned(),
        source,
    })
}

pub(crate) fn pack_out(path: &Path, out: &str) -> Result<Vec<u8>, StoreError> {
    pack(path, &Value::from(out))
}

pub(crate) fn pack_minions(path: &Path, mut ids: Vec<String>) -> Result<Vec<u8>, StoreError> {
    ids.sort_unstable();
    ids.dedup();
    let list = Value::List(ids.into_iter().map(Value::from).collect());
    pack(path, &list)
}

/// What was published, without its secrets.
pub(crate) fn pack_load(path: &Path, load: &Map) -> Result<Vec<u8>, StoreError> {
    pack_map(&without_secrets(load), Packing::Modern).map_err(|source| StoreError::Pack {
        path: path.to_owned(),
        source,
    })
}

/// `return`, `retcode` and `success`, as they came.
pub(crate) fn pack_return(path: &Path, ret: &JobReturn) -> Result<Vec<u8>, StoreError> {
    const AROUND_BYTES: usize = 64;
    let write = || {
        let bytes = packed_len(&ret.ret, Packing::Modern) + AROUND_BYTES;
        let mut writer = Writer::with_capacity(Packing::Modern, bytes);
        writer.begin_map(3)?;
        writer.str("return")?;
        writer.value(&ret.ret)?;
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
        Ok(writer.into_bytes())
    };
    write().map_err(|source| StoreError::Pack {
        path: path.to_owned(),
        source,
    })
}

/// A publish request as it may be kept: nothing in it opens a door.
fn without_secrets(load: &Map) -> Map {
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
