//! `key.*`: the keys of minions.

use halite_call::Bound;
use halite_crypto::{HashType, PrivateKey};
use halite_key::{FingerForm, KeyState, KeyStoreError, Listing, PkiDir};
use halite_proto::{Map, MinionId, Value};

use super::{Done, Function, Wheel, WheelError, flag, function, text};
use crate::error::chain;

const ACCEPT: &str = "(match, include_rejected=False, include_denied=False)";
const REJECT: &str = "(match, include_accepted=False, include_denied=False)";

pub(super) const FUNCTIONS: &[Function] = &[
    function("key.accept", ACCEPT, accept, "Accepts the keys that match."),
    function(
        "key.accept_dict",
        ACCEPT,
        accept_map,
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
        delete_map,
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
        "key.gen",
        "(id_=None, keysize=2048)",
        generate,
        "Generates a key pair, which is not stored.",
    ),
    function(
        "key.gen_accept",
        "(id_, keysize=2048, force=False)",
        generate_accepted,
        "Generates a key pair for a minion and accepts its public key.",
    ),
    function(
        "key.gen_keys",
        "(keydir=None, keyname=None, keysize=None, user=None)",
        on_this_machine,
        "Writes a key pair; only salt-key on the master's own machine can do that.",
    ),
    function(
        "key.gen_signature",
        "(priv, pub, signature_path, auto_create=False, keysize=None)",
        on_this_machine,
        "Writes a signature; only salt-key on the master's own machine can do that.",
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
        reject_map,
        "Rejects the keys that a map from states to ids lists.",
    ),
];

/// The keys that the argument `match` means: a glob, a list of ids, or a map
/// from states to ids.
fn matched(wheel: &Wheel, bound: &Bound) -> Result<Listing, WheelError> {
    let all = wheel.keys.store.list_all()?;
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
                let ids = all.in_state(state).iter().filter(is_wanted).cloned();
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

fn accept(wheel: &Wheel, bound: &Bound) -> Done {
    let from = from_states(
        bound,
        &[
            ("include_rejected", KeyState::Rejected),
            ("include_denied", KeyState::Denied),
        ],
    );
    let meant = matched(wheel, bound)?;
    for id in ids_in(&meant, &from) {
        if let Some(change) = wheel.keys.store.accept(&id, &from)? {
            wheel
                .keys
                .fire_key_event(KeyState::Accepted.word(), &change.id, &change.pem);
        }
    }
    where_now(wheel, bound, &meant)
}

fn reject(wheel: &Wheel, bound: &Bound) -> Done {
    let from = from_states(
        bound,
        &[
            ("include_accepted", KeyState::Accepted),
            ("include_denied", KeyState::Denied),
        ],
    );
    let meant = matched(wheel, bound)?;
    let mut is_changed = false;
    for id in ids_in(&meant, &from) {
        if let Some(change) = wheel.keys.store.reject(&id, &from)? {
            wheel
                .keys
                .fire_key_event(KeyState::Rejected.word(), &change.id, &change.pem);
            wheel.fleet.forget_pillars(&id);
            is_changed = true;
        }
    }
    if is_changed {
        wheel.publishing.cut_access();
    }
    where_now(wheel, bound, &meant)
}

fn delete(wheel: &Wheel, bound: &Bound) -> Done {
    let meant = matched(wheel, bound)?;
    let mut is_changed = false;
    for id in ids_in(&meant, &KeyState::ALL) {
        for change in wheel.keys.store.delete(&id)? {
            wheel.keys.fire_key_event("delete", &change.id, &change.pem);
            is_changed = true;
        }
        wheel.fleet.forget_minion_data(&id);
    }
    if is_changed {
        wheel.publishing.cut_access();
    }
    glob_match(wheel, bound)
}

/// Runs a function that takes a map. Anything but a map matches no key, as with Salt, so
/// that `*` cannot be given by mistake.
fn of_map(wheel: &Wheel, bound: &Bound, run: fn(&Wheel, &Bound) -> Done) -> Done {
    match bound.get("match") {
        Some(Value::Map(_)) => run(wheel, bound),
        _ => Ok(Map::new().into()),
    }
}

fn accept_map(wheel: &Wheel, bound: &Bound) -> Done {
    of_map(wheel, bound, accept)
}

fn reject_map(wheel: &Wheel, bound: &Bound) -> Done {
    of_map(wheel, bound, reject)
}

fn delete_map(wheel: &Wheel, bound: &Bound) -> Done {
    of_map(wheel, bound, delete)
}

/// The keys of a map, listed by their present states.
fn where_now(wheel: &Wheel, bound: &Bound, meant: &Listing) -> Done {
    if !matches!(bound.get("match"), Some(Value::Map(_))) {
        return glob_match(wheel, bound);
    }
    let all = wheel.keys.store.list_all()?;
    let mut now = Listing::default();
    for state in KeyState::ALL {
        let ids = all.in_state(state).iter();
        let is_meant = |id: &&MinionId| meant.entries().any(|(_, other)| other == *id);
        now = now.with(state, ids.filter(is_meant).cloned().collect());
    }
    Ok(by_state(&now))
}

fn glob_match(wheel: &Wheel, bound: &Bound) -> Done {
    Ok(by_state(&matched(wheel, bound)?))
}

fn list(wheel: &Wheel, bound: &Bound) -> Done {
    let all = wheel.keys.store.list_all()?;
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
        let ids = all.in_state(*state).iter().map(Value::from).collect();
        (Value::from(state.dir_name()), Value::List(ids))
    });
    let mut lists: Map = lists.collect();
    if name == "all" {
        lists.insert("local", local(wheel)?);
    }
    Ok(lists.into())
}

/// The names of the master's own keys.
fn local(wheel: &Wheel) -> Result<Value, WheelError> {
    let local = wheel.keys.store.pki().local_keys()?.into_iter();
    Ok(Value::List(local.map(|(name, _)| name.into()).collect()))
}

fn list_all(wheel: &Wheel, _: &Bound) -> Done {
    let all = wheel.keys.store.list_all()?;
    let mut found = Map::from([("local", local(wheel)?)]);
    for state in KeyState::ALL {
        let ids = all.in_state(state).iter().map(Value::from).collect();
        found.insert(state.dir_name(), Value::List(ids));
    }
    Ok(found.into())
}

fn hash_of(wheel: &Wheel, bound: &Bound) -> HashType {
    let asked = text(bound, "hash_type").and_then(|name| HashType::parse(name).ok());
    asked.unwrap_or(wheel.general.hash_type)
}

fn texts(
    listing: &Listing,
    text: impl Fn(KeyState, &MinionId) -> Result<Option<String>, KeyStoreError>,
) -> Done {
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

fn finger(wheel: &Wheel, bound: &Bound) -> Done {
    let hash = hash_of(wheel, bound);
    texts(&matched(wheel, bound)?, |state, id| {
        wheel.keys.store.finger(state, id, FingerForm::Body, hash)
    })
}

fn print(wheel: &Wheel, bound: &Bound) -> Done {
    texts(&matched(wheel, bound)?, |state, id| {
        wheel.keys.store.get(state, id)
    })
}

fn finger_master(wheel: &Wheel, bound: &Bound) -> Done {
    let hash = hash_of(wheel, bound);
    let path = wheel.keys.store.pki().path().join("master.pub");
    let finger = PkiDir::finger_local(&path, FingerForm::Body, hash)?;
    Ok(Map::from([("local", Map::from([("master.pub", finger)]))]).into())
}

fn master_key_str(wheel: &Wheel, _: &Bound) -> Done {
    let name = format!("{}.pub", halite_key::master_id(&wheel.general.id));
    let text = wheel.keys.identity.public_pem();
    Ok(Map::from([("local", Map::from([(name.as_str(), text)]))]).into())
}

/// A key pair of the size that is asked for.
fn pair(bound: &Bound) -> Result<(String, String), WheelError> {
    const SIZES: std::ops::RangeInclusive<u32> = 2048..=8192;
    let failed = |error: &dyn std::error::Error| WheelError::Failed(chain(error));
    let bits = bound.get("keysize").and_then(Value::as_i64).unwrap_or(2048);
    let bits = u32::try_from(bits).ok().filter(|bits| SIZES.contains(bits));
    let bits = bits.ok_or_else(|| {
        WheelError::Failed(format!(
            "keysize must be between {} and {}",
            SIZES.start(),
            SIZES.end()
        ))
    })?;
    let private = PrivateKey::generate(bits).map_err(|error| failed(&error))?;
    let public = private.public().and_then(|public| public.to_pem());
    let public = public.map_err(|error| failed(&error))?;
    let text = private.to_pem().map_err(|error| failed(&error))?;
    Ok((text.expose().clone(), public))
}

fn both((private, public): (String, String)) -> Value {
    Map::from([("priv", private), ("pub", public)]).into()
}

fn generate(_: &Wheel, bound: &Bound) -> Done {
    pair(bound).map(both)
}

fn generate_accepted(wheel: &Wheel, bound: &Bound) -> Done {
    let id = halite_proto::python::str(bound.get("id_").unwrap_or(&Value::Nil));
    let id = MinionId::parse(id).map_err(|error| WheelError::Failed(error.to_string()))?;
    let known = wheel.keys.store.lookup(&id)?;
    if known.is_none() {
        let allowed = wheel.keys.settings.new_ids.check(&id);
        allowed.map_err(|why| WheelError::Failed(format!("invalid minion id {id}: {why}")))?;
    }
    if known.is_some() && !flag(bound, "force") {
        return Ok(Map::new().into());
    }
    let pair = pair(bound)?;
    wheel.keys.store.put(&id, KeyState::Accepted, &pair.1)?;
    wheel
        .keys
        .fire_key_event(KeyState::Accepted.word(), &id, &pair.1);
    Ok(both(pair))
}

/// Paths from far away are not written to.
fn on_this_machine(_: &Wheel, _: &Bound) -> Done {
    Err(WheelError::Failed(
        "files are written by salt-key (--gen-keys, --gen-signature) on the master's machine only"
            .to_owned(),
    ))
}
