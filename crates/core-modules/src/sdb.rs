//! `sdb.*`: values behind addresses of the form `sdb://<profile>/<key>`.
//!
//! A profile is an option of the minion, or of its pillar, that names a driver:
//! `env`, `yaml`, or a custom one in Python (`_sdb`).

use halite_crypto::files;
use halite_proto::{Map, Value};
use halite_yaml::Node;

use super::random;
use crate::limits::SDB_FILE_BYTES_MAX;
use halite_call::run;
use halite_call::{
    Call, CallError, CallResult, Function, Module,
    extensions::{self, ExtensionKind},
    python,
};

pub(super) const MODULE: Module = Module {
    name: "sdb",
    functions: &[
        Function::new("sdb.delete", "(uri)", delete, "Removes a value."),
        Function::new(
            "sdb.get",
            "(uri, strict=False)",
            get,
            "The value behind an address. What is no address is returned as it is, and\nan error with strict.",
        ),
        Function::new(
            "sdb.get_or_set_hash",
            "(uri, length=8, chars='abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)')",
            get_or_set_hash,
            "The value behind an address; where there is none, random characters become\nit.",
        ),
        Function::new("sdb.set", "(uri, value)", set, "Stores a value."),
    ],
};

const SCHEME: &str = "sdb://";

/// A profile and the key in it.
struct Address {
    driver: String,
    profile: Map,
    key: String,
}

/// Why there is no address; the texts are those of `strict`.
fn address(call: &Call<'_>) -> Result<Address, String> {
    let rest = call
        .arg("uri")
        .as_str()
        .and_then(|uri| uri.strip_prefix(SCHEME));
    let Some(rest) = rest else {
        return Err("SDB uri must start with \"sdb://\"".to_owned());
    };
    let Some((name, key)) = rest.split_once('/').filter(|(_, key)| !key.is_empty()) else {
        return Err(
            "SDB uri must have a profile name as a first part of the uri before the /".to_owned(),
        );
    };
    let of_opts = call
        .opt(name)
        .as_map()
        .filter(|profile| !profile.is_empty());
    let profile = match of_opts {
        Some(profile) => profile.clone(),
        None => match call.ctx.pillar().get(name) {
            Some(Value::Map(profile)) => profile.clone(),
            _ => Map::new(),
        },
    };
    let Some(driver) = profile.get("driver").map(python::str) else {
        return Err(format!(
            "SDB profile \"{name}\" wasnt found in the minion configuration"
        ));
    };
    Ok(Address {
        driver,
        profile,
        key: key.to_owned(),
    })
}

/// Asks a driver in Python, in which a profile names what else it needs.
fn in_python(call: &Call<'_>, address: &Address, function: &str, args: Vec<Value>) -> CallResult {
    let driver = &address.driver;
    let name = format!("{driver}.{function}");
    let plugin = extensions::plugin(call.ctx, ExtensionKind::Sdb, &name);
    let plugin = plugin.ok_or_else(|| none(driver, function))?;
    let profile = Map::from([("profile", address.profile.clone())]);
    run::run_plugin(call, plugin, args, profile)
}

/// There is no such function of a driver.
fn none(driver: &str, function: &str) -> CallError {
    CallError::exception("KeyError", format!("'{driver}.{function}'"))
}

fn get(call: &Call<'_>) -> CallResult {
    match address(call) {
        Ok(address) => read(call, &address),
        Err(why) if call.flag("strict") => Err(CallError::invocation(why)),
        Err(_) => Ok(call.arg("uri").clone()),
    }
}

fn read(call: &Call<'_>, address: &Address) -> CallResult {
    match address.driver.as_str() {
        "env" => {
            let args = [Value::from(address.key.as_str()), Value::Nil];
            let found = call.salt("environ.item", &args, Map::new())?;
            let found = found.get(&address.key).cloned().unwrap_or_default();
            Ok(if found.is_true() { found } else { Value::Nil })
        }
        "yaml" => from_files(call, address),
        _ => in_python(call, address, "get", vec![address.key.as_str().into()]),
    }
}

/// The files of the profile, one laid over the other.
fn from_files(call: &Call<'_>, address: &Address) -> CallResult {
    let mut all = Value::Map(Map::new());
    for name in python::texts(address.profile.get("files").unwrap_or(&Value::Nil)) {
        let bytes = match files::read_limited(std::path::Path::new(&name), SDB_FILE_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!(%error, "File '{name}' not found ");
                continue;
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let loaded = match halite_yaml::load(&text, &name).map(Node::into_value) {
            Ok(loaded @ Value::Map(_)) => loaded,
            Ok(_) => {
                tracing::error!("Error deserializing sdb file '{name}': it is no dictionary");
                continue;
            }
            Err(error) => return Err(CallError::command(error.to_string())),
        };
        let how = match address.profile.get("merge") {
            Some(Value::Map(how)) => how.clone(),
            _ => Map::new(),
        };
        all = call.salt("slsutil.merge", &[all, loaded], how)?;
    }
    if address.profile.get("gpg").is_some_and(Value::is_true) {
        let kwargs = Map::from([("default_renderer", Value::from("gpg"))]);
        all = each_text(all, &|text| {
            let mut kwargs = kwargs.clone();
            kwargs.insert("string", text);
            call.salt("slsutil.renderer", &[], kwargs)
        })?;
    }
    let found = all
        .as_map()
        .and_then(|all| python::traverse_map(all, &address.key, ":"));
    Ok(found.cloned().unwrap_or_default())
}

/// The value with every encrypted text in it replaced.
fn each_text(value: Value, change: &dyn Fn(String) -> CallResult) -> CallResult {
    Ok(match value {
        Value::Str(text) if text.contains("-----BEGIN PGP MESSAGE-----") => change(text)?,
        Value::List(items) => items
            .into_iter()
            .map(|item| each_text(item, change))
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Map(map) => map
            .into_iter()
            .map(|(key, value)| Ok((key, each_text(value, change)?)))
            .collect::<Result<Map, CallError>>()?
            .into(),
        other => other,
    })
}

fn write(call: &Call<'_>, address: &Address, value: &Value) -> CallResult {
    match address.driver.as_str() {
        "env" => {
            // What is set stays, as in Salt.
            let old = read(call, address)?;
            if old.is_true() {
                return Ok(old);
            }
            let value = python::str(value);
            let args = [Value::from(address.key.as_str()), value.as_str().into()];
            call.salt("environ.setval", &args, Map::new())?;
            Ok(value.into())
        }
        "yaml" => Err(CallError::exception("NotImplemented", "")),
        _ => {
            let args = vec![address.key.as_str().into(), value.clone()];
            in_python(call, address, "set", args)
        }
    }
}

fn set(call: &Call<'_>) -> CallResult {
    match address(call) {
        Ok(address) => write(call, &address, call.arg("value")),
        Err(_) => Ok(false.into()),
    }
}

fn delete(call: &Call<'_>) -> CallResult {
    match address(call) {
        Ok(address) => match address.driver.as_str() {
            driver @ ("env" | "yaml") => Err(none(driver, "delete")),
            _ => in_python(call, &address, "delete", vec![address.key.as_str().into()]),
        },
        Err(_) => Ok(false.into()),
    }
}

fn get_or_set_hash(call: &Call<'_>) -> CallResult {
    let Ok(address) = address(call) else {
        let is_address = call
            .arg("uri")
            .as_str()
            .is_some_and(|uri| uri.starts_with(SCHEME));
        return Ok(if is_address {
            call.arg("uri").clone()
        } else {
            false.into()
        });
    };
    let known = read(call, &address)?;
    if known.is_true() {
        return Ok(known);
    }
    let length = usize::try_from(call.int("length")?).unwrap_or_default();
    let value = Value::from(random::text(&call.text("chars"), length)?);
    if known.is_nil() {
        write(call, &address, &value)?;
    }
    Ok(value)
}
