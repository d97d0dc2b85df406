//! Wheel functions: what changes the master itself, `key.*` above all. They
//! run at once, and their answer is what they return.
//!
//! Invariant: like a runner, each ends with exactly one `ret` event.

use halite_crypto::HashType;
use halite_key::{FingerForm, KeyState, KeyStore, KeyStoreError, Listing};
use halite_proto::{Map, MinionId, Value};
use halite_signature::{Bound, Signature};

use crate::error::chain;
use crate::master::Master;
use crate::runner::keep;

/// A wheel function.
struct Function {
    name: &'static str,
    signature: &'static str,
    doc: &'static str,
    run: fn(&Master, &Bound) -> Result<Value, KeyStoreError>,
}

const fn function(
    name: &'static str,
    signature: &'static str,
    run: fn(&Master, &Bound) -> Result<Value, KeyStoreError>,
    doc: &'static str,
) -> Function {
    Function {
        name,
        signature,
        doc,
        run,
    }
}

const ACCEPT: &str = "(match, include_rejected=False, include_denied=False)";
const REJECT: &str = "(match, include_accepted=False, include_denied=False)";

const FUNCTIONS: &[Function] = &[
    function("key.accept", ACCEPT, accept, "Accepts the keys that match."),
    function(
        "key.accept_dict",
        ACCEPT,
        accept,
        "Accepts the keys that a map from states to ids lists.",
    ),
    function(
        "key.delete",
        "(match)",
        delete,
        "Deletes the keys that match.",
    ),
    function(
        "key.delete_dict",
        "(match)",
        delete,
        "Deletes the keys that a map from states to ids lists.",
    ),
    function(
        "key.finger",
        "(match, hash_type=None)",
        finger,
        "The fingerprints of the keys that match.",
    ),
    function(
        "key.finger_master",
        "(hash_type=None)",
        finger_master,
        "The fingerprint of the master's public key.",
    ),
    function(
        "key.glob_match",
        "(match)",
        glob_match,
        "The keys that match, by their states.",
    ),
    function(
        "key.list",
        "(match)",
        list,
        "The keys in a state: acc, pre, rej, den or all.",
    ),
    function("key.list_all", "()", list_all, "All keys, by their states."),
    function(
        "key.master_key_str",
        "()",
        master_key_str,
        "The text of the master's public key.",
    ),
    function(
        "key.name_match",
        "(match)",
        glob_match,
        "The keys that match, by their states.",
    ),
    function(
        "key.print",
        "(match)",
        print,
        "The texts of the keys that match.",
    ),
    function("key.reject", REJECT, reject, "Rejects the keys that match."),
    function(
        "key.reject_dict",
        REJECT,
        reject,
        "Rejects the keys that a map from states to ids lists.",
    ),
];

/// The documentation of all of them.
pub(crate) fn docs() -> Map {
    FUNCTIONS
        .iter()
        .map(|function| {
            let text = format!("\n    {}\n    ", function.doc);
            (Value::from(function.name), Value::from(text))
        })
        .collect()
}

/// Runs one of them and tells of it; the answer to who asked.
pub(crate) fn run(master: &Master, fun: &str, args: Vec<Value>, kwargs: Map, user: &str) -> Value {
    let jid = match master.allocate_jid(false) {
        Ok(jid) => jid,
        Err(error) => {
            let message = chain(&error);
            tracing::error!("could not allocate a job id: {message}");
            let error = Map::from([("name", "SaltCacheError"), ("message", message.as_str())]);
            return Map::from([("error", error)]).into();
        }
    };
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
    master.bus.fire(&format!("{tag}/new"), data.clone());
    let (value, success) = match called(master, fun, args, kwargs) {
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
    keep::store(master, &jid, &data);
    master.bus.fire(&format!("{tag}/ret"), data.clone());
    data.insert("tag", tag.as_str());
    Map::from([("tag", Value::from(tag)), ("data", data.into())]).into()
}

fn called(master: &Master, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, String> {
    let Some(function) = FUNCTIONS.iter().find(|function| function.name == fun) else {
        return Err(format!("'{fun}' is not available."));
    };
    let signature = Signature::parse(function.signature).map_err(|error| error.to_string())?;
    let short = fun.split_once('.').map_or(fun, |(_, name)| name);
    let bound = signature.bind(short, args, kwargs)?;
    (function.run)(master, &bound).map_err(|error| chain(&error))
}

fn text<'a>(bound: &'a Bound, name: &str) -> Option<&'a str> {
    bound.get(name).and_then(Value::as_str)
}

fn flag(bound: &Bound, name: &str) -> bool {
    bound.get(name).is_some_and(Value::is_true)
}

/// The keys that the argument `match` means: a glob, a list of ids, or a map
/// from states to ids.
fn matched(master: &Master, bound: &Bound) -> Result<Listing, KeyStoreError> {
    let all = master.keys.list_all()?;
    Ok(match bound.get("match") {
        Some(Value::Str(globs)) => all.matching(globs),
        Some(Value::List(ids)) => {
            let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).collect();
            all.matching(&ids.join(","))
        }
        Some(Value::Map(states)) => {
            let mut part = Listing::default();
            for state in KeyState::ALL {
                let wanted = states.get(state.dir_name()).and_then(Value::as_list);
                let wanted = wanted.unwrap_or_default();
                let is_wanted = |id: &&MinionId| wanted.contains(&Value::from(*id));
                let ids = all.of(state).iter().filter(is_wanted).cloned();
                part = part.with(state, ids.collect());
            }
            part
        }
        _ => Listing::default(),
    })
}

fn by_state(listing: &Listing) -> Value {
    listing
        .iter()
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(state, ids)| {
            let ids = ids.iter().map(Value::from).collect();
            (Value::from(state.dir_name()), Value::List(ids))
        })
        .collect::<Map>()
        .into()
}

fn ids_in(listing: &Listing, states: &[KeyState]) -> Vec<MinionId> {
    let entries = listing
        .entries()
        .filter(|(state, _)| states.contains(state));
    entries.map(|(_, id)| id.clone()).collect()
}

/// The states that the arguments add to the first one.
fn from_states(bound: &Bound, others: &[(&str, KeyState)]) -> Vec<KeyState> {
    let mut states = vec![KeyState::Pending];
    for (name, state) in others {
        if flag(bound, name) {
            states.push(*state);
        }
    }
    states
}

fn accept(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    let from = from_states(
        bound,
        &[
            ("include_rejected", KeyState::Rejected),
            ("include_denied", KeyState::Denied),
        ],
    );
    let meant = matched(master, bound)?;
    for id in ids_in(&meant, &from) {
        if let Some(change) = master.keys.accept(&id, &from)? {
            master.fire_key_event(KeyState::Accepted.verb(), &change.id, &change.pem);
        }
    }
    glob_match(master, bound)
}

fn reject(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    let from = from_states(
        bound,
        &[
            ("include_accepted", KeyState::Accepted),
            ("include_denied", KeyState::Denied),
        ],
    );
    let meant = matched(master, bound)?;
    let mut is_changed = false;
    for id in ids_in(&meant, &from) {
        if let Some(change) = master.keys.reject(&id, &from)? {
            master.fire_key_event(KeyState::Rejected.verb(), &change.id, &change.pem);
            is_changed = true;
        }
    }
    if is_changed {
        master.cut_access();
    }
    glob_match(master, bound)
}

fn delete(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    let meant = matched(master, bound)?;
    let mut is_changed = false;
    for id in ids_in(&meant, &KeyState::ALL) {
        for change in master.keys.delete(&id)? {
            master.fire_key_event("delete", &change.id, &change.pem);
            is_changed = true;
        }
        master.forget_minion_data(&id);
    }
    if is_changed {
        master.cut_access();
    }
    glob_match(master, bound)
}

fn glob_match(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    Ok(by_state(&matched(master, bound)?))
}

fn list(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    let all = master.keys.list_all()?;
    let name = text(bound, "match").unwrap_or_default();
    let states: &[KeyState] = match name {
        "all" => &KeyState::ALL,
        _ if name.starts_with("acc") => &[KeyState::Accepted],
        _ if name.starts_with("pre") || name.starts_with("un") => &[KeyState::Pending],
        _ if name.starts_with("rej") => &[KeyState::Rejected],
        _ if name.starts_with("den") => &[KeyState::Denied],
        _ => &[],
    };
    let lists = states.iter().map(|state| {
        let ids = all.of(*state).iter().map(Value::from).collect();
        (Value::from(state.dir_name()), Value::List(ids))
    });
    Ok(lists.collect::<Map>().into())
}

fn list_all(master: &Master, _: &Bound) -> Result<Value, KeyStoreError> {
    let all = master.keys.list_all()?;
    let local = master.keys.local_keys()?.into_iter();
    let mut found = Map::from([(
        "local",
        Value::List(local.map(|(name, _)| name.into()).collect()),
    )]);
    for state in KeyState::ALL {
        let ids = all.of(state).iter().map(Value::from).collect();
        found.insert(state.dir_name(), Value::List(ids));
    }
    Ok(found.into())
}

fn hash_of(master: &Master, bound: &Bound) -> HashType {
    let asked = text(bound, "hash_type").and_then(|name| HashType::parse(name).ok());
    asked.unwrap_or(master.settings.hash_type)
}

fn texts(
    listing: &Listing,
    text: impl Fn(KeyState, &MinionId) -> Result<Option<String>, KeyStoreError>,
) -> Result<Value, KeyStoreError> {
    let mut states = Map::new();
    for (state, ids) in listing.iter() {
        let mut of_state = Map::new();
        for id in ids {
            if let Some(text) = text(state, id)? {
                of_state.insert(id, text);
            }
        }
        if !of_state.is_empty() {
            states.insert(state.dir_name(), of_state);
        }
    }
    Ok(states.into())
}

fn finger(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    let hash = hash_of(master, bound);
    texts(&matched(master, bound)?, |state, id| {
        master.keys.finger(state, id, FingerForm::WholeText, hash)
    })
}

fn print(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    texts(&matched(master, bound)?, |state, id| {
        master.keys.get(state, id)
    })
}

fn finger_master(master: &Master, bound: &Bound) -> Result<Value, KeyStoreError> {
    let hash = hash_of(master, bound);
    let path = master.keys.dir().join("master.pub");
    let finger = KeyStore::finger_local(&path, FingerForm::WholeText, hash)?;
    Ok(Map::from([("local", Map::from([("master.pub", finger)]))]).into())
}

fn master_key_str(master: &Master, _: &Bound) -> Result<Value, KeyStoreError> {
    let name = format!("{}.pub", halite_key::master_id(&master.settings.id));
    let text = master.identity.public_pem();
    Ok(Map::from([("local", Map::from([(name.as_str(), text)]))]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_can_be_called_and_is_described() {
        for function in FUNCTIONS {
            assert!(
                Signature::parse(function.signature).is_ok(),
                "{}",
                function.name
            );
            assert!(function.doc.ends_with('.'), "{}", function.name);
        }
        let sorted = FUNCTIONS.windows(2).all(|pair| pair[0].name < pair[1].name);
        assert!(sorted);
    }
}
