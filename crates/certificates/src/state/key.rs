//! Private keys.

use std::path::PathBuf;

use halite_call::{Call, CallError, CallResult, StateReturn, paths, python};
use halite_proto::{Map, Value};

use super::file::{Look, Managed, outcome, unrecognized};
use crate::containers::Protection;
use crate::encode;
use crate::keys::{Encoding, KeyError, KeyKind, PrivateKey};

/// What a file gets that no mode is asked for.
const MODE: &str = "0400";

pub(super) fn managed(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.kwargs().clone();
    let size = match kwargs.remove("bits") {
        Some(bits) => bits,
        None => call.arg("keysize").clone(),
    };
    for ignored in ["cipher", "verbose", "text"] {
        kwargs.remove(ignored);
    }
    let (mut file, rest) = Managed::new(call, kwargs);
    unrecognized(&rest)?;
    if file.argument("mode").is_none() {
        file.set("mode", MODE);
    }
    let state = StateReturn::of(call).ok("The private key is in the correct state");
    let done = manage(call, &mut file, state.clone(), &size);
    outcome(state, done)
}

fn manage(
    call: &Call<'_>,
    file: &mut Managed<'_, '_>,
    mut state: StateReturn,
    size: &Value,
) -> Result<StateReturn, CallError> {
    let algo = call.text("algo");
    let size = bits(&algo, size)?;
    let encoding = encoding(call)?;
    let place = match file.look(&state)? {
        Look::Done(state) => return Ok(state),
        Look::At(place) => place,
    };
    let name = call.arg("name");
    let secret = match call.arg("passphrase") {
        Value::Nil => None,
        _ => Some(call.text("passphrase")),
    };
    let mut current = None;
    let mut changes = Map::new();
    if place.exists && !call.flag("new") {
        let found = PrivateKey::load(&place.value, secret.as_deref());
        current = existing(call, found, &place.value, &mut changes)?;
    }
    match &current {
        Some((key, old)) => compare(key, *old, &algo, size, encoding, &mut changes),
        None if place.exists && call.flag("new") => {
            changes.insert("replaced", name.clone());
        }
        None => {
            changes.insert("created", name.clone());
        }
    }
    state.changes = changes;
    let verb = if place.exists && !state.changes.is_empty() {
        "recreate"
    } else {
        "create"
    };
    if let Some(done) = file.settle(&mut state, "private key", verb) {
        return Ok(done);
    }
    if state.changes.is_empty() {
        return file.write(state, None, current.is_some());
    }
    let only_form = state
        .changes
        .iter()
        .all(|(key, _)| matches!(key.as_str(), Some("encoding" | "passphrase")));
    let exists = current.is_some();
    let key = match current {
        Some((key, _)) if only_form => key,
        _ => PrivateKey::generate(&algo, size)?,
    };
    let protection = Protection {
        passphrase: secret.as_deref(),
        compatible: call.flag("pkcs12_encryption_compat"),
    };
    let encoded = encode::private_key(&key, encoding, protection)?;
    state.comment = format!("The private key has been {verb}d").into();
    file.write(state, Some(&encoded), exists)
}

/// The size of the key in bits, if the state gives one.
fn bits(algo: &str, size: &Value) -> Result<Option<i64>, CallError> {
    if !size.is_true() {
        return Ok(None);
    }
    let size = python::int(size)?;
    if ["ed25519", "ed448"].contains(&algo) {
        return Err(CallError::invocation(format!(
            "keysize is an invalid parameter for {algo}"
        )));
    }
    Ok(Some(size))
}

/// The encoding of the state, which must be one for private keys.
fn encoding(call: &Call<'_>) -> Result<Encoding, CallError> {
    let text = call.text("encoding");
    match Encoding::parse(&text) {
        Some(encoding @ (Encoding::Pem | Encoding::Der | Encoding::Pkcs12)) => Ok(encoding),
        _ => Err(CallError::command(format!(
            "Invalid value '{text}' for encoding. Valid: der, pem, pkcs12"
        ))),
    }
}

/// The key of the file; nothing if another is to be made.
fn existing(
    call: &Call<'_>,
    found: Result<(PrivateKey, Encoding), KeyError>,
    place: &Value,
    changes: &mut Map,
) -> Result<Option<(PrivateKey, Encoding)>, CallError> {
    let refused = match found {
        Ok(found) => return Ok(Some(found)),
        Err(KeyError::Superfluous) => {
            changes.insert("passphrase", true);
            return Ok(Some(PrivateKey::load(place, None)?));
        }
        Err(KeyError::Invalid) => {
            "The provided passphrase cannot decrypt the private key. Pass overwrite: true to force regeneration"
        }
        Err(KeyError::Missing) => {
            "The existing file is encrypted. Pass overwrite: true to force regeneration without passphrase"
        }
        Err(KeyError::Unreadable(_)) => {
            if call.flag("overwrite") {
                return Ok(None);
            }
            return Err(CallError::command(
                "The existing file does not seem to be a private key formatted as DER, PEM or embedded in PKCS12. Pass overwrite: true to force regeneration",
            ));
        }
    };
    if !call.flag("overwrite") {
        return Err(CallError::command(refused));
    }
    changes.insert("passphrase", true);
    Ok(None)
}

fn compare(
    key: &PrivateKey,
    old: Encoding,
    algo: &str,
    size: Option<i64>,
    encoding: Encoding,
    changes: &mut Map,
) {
    let sized = match key.kind {
        KeyKind::Rsa => Some(2048),
        KeyKind::Ec => Some(256),
        KeyKind::Ed25519 | KeyKind::Ed448 => None,
    };
    if key.kind.name() != algo {
        changes.insert("algo", algo);
    } else if let Some(default) = sized {
        let wanted = size.unwrap_or(default);
        if i64::from(key.bits()) != wanted {
            changes.insert("keysize", wanted);
        }
    }
    if old != encoding {
        changes.insert("encoding", encoding.name());
    }
}

pub(super) fn managed_ssh(call: &Call<'_>) -> CallResult {
    let state = super::certificate::reported(call);
    if state.result == Some(false) {
        return Ok(state.into());
    }
    let (mut file, _) = Managed::new(call, call.kwargs().clone());
    let mut done = file.write(state, None, true)?;
    let Some(tempfile) = call.text_opt("tempfile") else {
        return Ok(done.into());
    };
    let (from, to) = (PathBuf::from(tempfile), PathBuf::from(call.text("name")));
    if call.is_test() {
        let _ = paths::remove_file(from);
        let said = python::str(&done.comment);
        done.comment = format!("{said}{}", super::certificate::NOT_IN_TEST).into();
        return Ok(done.into());
    }
    if let Err(error) = paths::rename(from, to) {
        let said = python::str(&done.comment);
        done = done.failed(format!(
            "{said}. But: Failed moving the private key into place: {error}"
        ));
        done.changes = Map::new();
    }
    Ok(done.into())
}
