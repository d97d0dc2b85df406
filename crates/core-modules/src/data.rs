//! `data.*`: values that the minion stores, in `<cachedir>/datastore`.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use halite_crypto::files;
use halite_proto::{Map, Value, msgpack};

use crate::limits::DATASTORE_BYTES_MAX;
use halite_call::{Call, CallResult, Function, Module, paths};

pub(super) const MODULE: Module = Module {
    name: "data",
    functions: &[
        Function::new(
            "data.cas",
            "(key, value, old_value)",
            cas,
            "Gives a key another value if it has the old one.",
        ),
        Function::new("data.clear", "()", clear, "Forgets all values."),
        Function::new(
            "data.dump",
            "(new_data)",
            dump,
            "Replaces all values with those of a map.",
        ),
        Function::new(
            "data.get",
            "(key, default=None)",
            get,
            "The value of a key, or those of a list of keys.",
        ),
        Function::new(
            "data.has_key",
            "(key)",
            has_key,
            "Whether a key has a value.",
        ),
        Function::new("data.items", "()", load, "All keys with their values."),
        Function::new("data.keys", "()", keys, "All keys that have a value."),
        Function::new("data.load", "()", load, "All keys with their values."),
        Function::new(
            "data.pop",
            "(key, default=None)",
            pop,
            "Takes a value out and returns it.",
        ),
        Function::new(
            "data.update",
            "(key, value)",
            update,
            "Gives a key a value.",
        ),
        Function::new("data.values", "()", values, "The values of all keys."),
    ],
};

/// One change at a time: jobs are threads of one program.
static CHANGING: Mutex<()> = Mutex::new(());

/// The mode of the file: values may be secrets.
const MODE: u32 = 0o600;

fn path(call: &Call<'_>) -> PathBuf {
    call.ctx.cachedir().join("datastore")
}

fn read(call: &Call<'_>) -> Map {
    let bytes = files::read_limited(&path(call), DATASTORE_BYTES_MAX);
    let unpacked = bytes.ok().map(|bytes| msgpack::unpack_modern(&bytes));
    match unpacked {
        Some(Ok(Value::Map(map))) => map,
        _ => Map::new(),
    }
}

fn write(call: &Call<'_>, store: Map) -> bool {
    let Ok(packed) = msgpack::pack_modern(&store.into()) else {
        return false;
    };
    match files::create_private(&path(call), MODE, &packed) {
        Ok(()) => true,
        Err(error) => {
            tracing::error!(%error, "the datastore is not written");
            false
        }
    }
}

/// Changes the values, one call at a time.
fn change<T>(call: &Call<'_>, change: impl FnOnce(&mut Map) -> T) -> T {
    let _one_at_a_time = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut store = read(call);
    let done = change(&mut store);
    write(call, store);
    done
}

fn load(call: &Call<'_>) -> CallResult {
    Ok(read(call).into())
}

fn clear(call: &Call<'_>) -> CallResult {
    // There may be none.
    let _ = paths::remove_file(path(call));
    Ok(true.into())
}

fn dump(call: &Call<'_>) -> CallResult {
    let new = match call.arg("new_data") {
        Value::Map(map) => map.clone(),
        Value::Str(text) => {
            // Python's notation of a map, with lists for tuples.
            let text = text.replace('(', "[").replace(')', "]");
            match halite_yaml::load(&text, "new_data").map(halite_yaml::Node::into_value) {
                Ok(Value::Map(map)) => map,
                _ => return Ok(false.into()),
            }
        }
        _ => return Ok(false.into()),
    };
    let _one_at_a_time = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(write(call, new).into())
}

fn update(call: &Call<'_>) -> CallResult {
    let (key, value) = (call.arg("key").clone(), call.arg("value").clone());
    change(call, |store| store.insert(key, value));
    Ok(true.into())
}

fn cas(call: &Call<'_>) -> CallResult {
    let (key, value) = (call.arg("key").clone(), call.arg("value").clone());
    let old = call.arg("old_value");
    let done = change(call, |store| {
        let fits = store.get_value(&key) == Some(old);
        if fits {
            store.insert(key, value);
        }
        fits
    });
    Ok(done.into())
}

fn pop(call: &Call<'_>) -> CallResult {
    let key = call.arg("key");
    let taken = change(call, |store| {
        let taken = store.get_value(key).cloned();
        store.retain(|known, _| known != key);
        taken
    });
    Ok(taken.unwrap_or_else(|| call.arg("default").clone()))
}

fn get(call: &Call<'_>) -> CallResult {
    let (store, default) = (read(call), call.arg("default"));
    let Value::List(keys) = call.arg("key") else {
        let found = store.get_value(call.arg("key")).cloned();
        return Ok(found.unwrap_or_else(|| default.clone()));
    };
    let found = keys.iter().filter_map(|key| {
        let found = store.get_value(key).cloned();
        match default {
            Value::Nil => found,
            default => Some(found.unwrap_or_else(|| default.clone())),
        }
    });
    Ok(found.collect::<Vec<_>>().into())
}

fn has_key(call: &Call<'_>) -> CallResult {
    Ok(read(call).get_value(call.arg("key")).is_some().into())
}

fn keys(call: &Call<'_>) -> CallResult {
    Ok(read(call).keys().cloned().collect::<Vec<_>>().into())
}

fn values(call: &Call<'_>) -> CallResult {
    Ok(read(call).values().cloned().collect::<Vec<_>>().into())
}
