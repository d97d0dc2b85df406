//! Wheel functions: those that change the master itself, above all `key.*`. They
//! run at once, and their answer is their return.
//!
//! Invariant: like a runner, each ends with exactly one `ret` event.

mod keys;
mod own;
mod python;
mod roots;

use std::sync::Arc;

use halite_call::{Bound, Signature};
use halite_key::KeyStoreError;
use halite_proto::time::stamp;
use halite_proto::{Map, Value};
use thiserror::Error;

use crate::clock::now_micros;
use crate::core::owner::ProvenBy;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::publishing::Publishing;
use crate::settings::General;

/// The parts of the master that wheel functions change.
pub(crate) struct Wheel {
    pub(crate) general: Arc<General>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) publishing: Arc<Publishing>,
}

/// A wheel function.
struct Function {
    name: &'static str,
    signature: &'static str,
    doc: &'static str,
    run: fn(&Wheel, &Bound) -> Done,
}

/// Replaces a secret, as Salt masks pillars.
const MASK: &str = "**********";

/// What one returns.
type Done = Result<Value, WheelError>;

/// Why one failed.
#[derive(Debug, Error)]
enum WheelError {
    /// The keys cannot be used.
    #[error("could not use the keys")]
    Keys(#[from] KeyStoreError),
    /// The function failed; the text says why.
    #[error("{0}")]
    Failed(String),
}

const fn function(
    name: &'static str,
    signature: &'static str,
    run: fn(&Wheel, &Bound) -> Done,
    doc: &'static str,
) -> Function {
    Function {
        name,
        signature,
        doc,
        run,
    }
}

const TABLES: &[&[Function]] = &[keys::FUNCTIONS, own::FUNCTIONS, roots::FUNCTIONS];

fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The documentation of all of them, and of those that users wrote.
pub(crate) fn docs(wheel: &Wheel) -> Map {
    let own = all().map(|function| {
        let text = format!("\n    {}\n    ", function.doc);
        (Value::from(function.name), Value::from(text))
    });
    let mut docs: Map = own.collect();
    docs.extend(python::docs(wheel));
    docs
}

/// Runs one of them and tells of it; the answer to who asked.
pub(crate) fn run(
    wheel: &Wheel,
    fun: &str,
    args: Vec<Value>,
    kwargs: Map,
    (user, proven_by): (&str, Option<&ProvenBy>),
) -> Value {
    let jid = wheel.jobs.allocate(false);
    let tag = format!("salt/wheel/{jid}");
    tracing::info!(user, %jid, "wheel {fun}");
    let mut fun_args = args.clone();
    if !kwargs.is_empty() {
        fun_args.push(kwargs.clone().into());
    }
    let mut data = Map::from([
        ("fun", Value::from(format!("wheel.{fun}"))),
        ("jid", (&jid).into()),
        ("user", user.into()),
        ("fun_args", fun_args.into()),
    ]);
    wheel.bus.fire(&format!("{tag}/new"), data.clone());
    let users = python::find(wheel, fun);
    let is_known = users.is_some() || all().any(|function| function.name == fun);
    let ended = match users {
        Some(users) => users.run(wheel, args, kwargs, (&jid, &tag, user)),
        None => called(wheel, fun, args, kwargs),
    };
    let (value, success) = match ended {
        Ok(value) => (value, true),
        Err(text) => {
            data.insert("retcode", 1);
            (
                format!("Exception occurred in wheel {fun}: {text}").into(),
                false,
            )
        }
    };
    data.insert("return", value);
    data.insert("success", success);
    let told = without_secrets(&data);
    let told = wheel.jobs.store_runner_return(&jid, proven_by, told);
    wheel.bus.fire(&format!("{tag}/ret"), told);
    let stamp = (!is_known).then(now_micros);
    let data = answer(&data, &tag, stamp);
    Map::from([("tag", Value::from(tag)), ("data", data.into())]).into()
}

/// The answer for the caller: the fields of Salt's masters, in their order. For a
/// function that does not exist it includes the time.
fn answer(data: &Map, tag: &str, stamp_micros: Option<u64>) -> Map {
    let mut answer = Map::with_capacity(7);
    for name in ["fun", "jid", "tag", "user", "return", "success"] {
        let value = match name {
            "tag" => tag.into(),
            other => data.get(other).cloned().unwrap_or_default(),
        };
        answer.insert(name, value);
    }
    if let Some(micros) = stamp_micros {
        answer.insert("_stamp", stamp(micros, true));
    }
    answer
}

/// What everybody may hear: who asked gets private keys, nobody else.
fn without_secrets(data: &Map) -> Map {
    let mut told = data.clone();
    if let Some(Value::Map(returned)) = told.get_mut("return")
        && returned.contains_key("priv")
    {
        returned.insert("priv", MASK);
    }
    told
}

fn called(wheel: &Wheel, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, String> {
    let Some(function) = all().find(|function| function.name == fun) else {
        return Err(format!("'{fun}' is not available."));
    };
    let signature = Signature::parse(function.signature).map_err(|error| error.to_string())?;
    let short = fun.split_once('.').map_or(fun, |(_, name)| name);
    let bound = signature.bind(short, args, kwargs)?;
    (function.run)(wheel, &bound).map_err(|error| chain(&error))
}

fn text<'a>(bound: &'a Bound, name: &str) -> Option<&'a str> {
    bound.get(name).and_then(Value::as_str)
}

fn flag(bound: &Bound, name: &str) -> bool {
    bound.get(name).is_some_and(Value::is_true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_can_be_called_and_is_described() {
        for function in all() {
            assert!(
                Signature::parse(function.signature).is_ok(),
                "{}",
                function.name
            );
            assert!(function.doc.ends_with('.'), "{}", function.name);
        }
        for table in TABLES {
            assert!(table.windows(2).all(|pair| pair[0].name < pair[1].name));
        }
    }

    #[test]
    fn private_keys_are_told_to_nobody() {
        let pair = Map::from([("priv", "secret"), ("pub", "open")]);
        let told = without_secrets(&Map::from([("return", pair)]));
        let expect = Map::from([("priv", MASK), ("pub", "open")]);
        assert_eq!(told, Map::from([("return", expect)]));
        let other = Map::from([("return", Value::from(true))]);
        assert_eq!(without_secrets(&other), other);
    }

    #[test]
    fn the_answer_is_that_of_salts_masters() {
        let data = Map::from([
            ("fun", Value::from("wheel.key.list_all")),
            ("jid", "20261122081626558242".into()),
            ("user", "root".into()),
            ("fun_args", Value::List(Vec::new())),
            ("retcode", 1.into()),
            ("return", Map::new().into()),
            ("success", true.into()),
        ]);
        let names = |stamp| {
            let answer = answer(&data, "salt/wheel/20261122081626558242", stamp);
            let names = answer.keys().filter_map(Value::as_str);
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(None), "fun jid tag user return success");
        assert_eq!(names(Some(1)), "fun jid tag user return success _stamp");
    }

    /// The wheel functions of Salt 3008.5.
    const SALTS: &str = include_str!("../../tests/data/salt-wheel.txt");

    #[test]
    fn every_wheel_function_of_salt_is_there() {
        let missing: Vec<&str> = SALTS
            .lines()
            .filter(|name| !all().any(|function| function.name == *name))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
