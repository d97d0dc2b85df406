//! Requests for certificates.

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::file::{Look, Managed, outcome};
use crate::build::{self, UnsignedRequest};
use crate::certificate::Request;
use crate::encode;
use crate::extension;
use crate::keys::{self, Encoding, PublicKey};

pub(super) fn managed(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.kwargs().clone();
    let digest = match kwargs.remove("algorithm") {
        Some(name) => python::str(&name),
        None => call.text("digest"),
    };
    build::short_names(&mut kwargs);
    let (mut file, mut rest) = Managed::new(call, kwargs);
    rest.insert("subject", call.arg("subject").clone());
    let state = StateReturn::of(call).ok("The certificate signing request is in the correct state");
    let done = manage(call, &mut file, state.clone(), &rest, &digest);
    outcome(state, done)
}

/// The encodings of requests and lists.
pub(super) fn encoding(call: &Call<'_>) -> Result<Encoding, CallError> {
    match Encoding::parse(&call.text("encoding")) {
        Some(encoding @ (Encoding::Pem | Encoding::Der)) => Ok(encoding),
        _ => Err(CallError::command(format!(
            "Invalid value '{}' for encoding. Valid: der, pem",
            call.text("encoding")
        ))),
    }
}

/// What changes if the digest of a signature is another one.
pub(super) fn compare_digest(algorithm: &str, digest: &str, changes: &mut Map) {
    let current = build::digest_of_algorithm(algorithm);
    if current.is_some_and(|current| current != digest) {
        changes.insert("digest", digest);
    }
}

/// Whether all that changes is how the file is encoded.
pub(super) fn only_encoding(changes: &Map) -> bool {
    changes
        .iter()
        .all(|(key, _)| key.as_str() == Some("encoding"))
}

fn manage(
    call: &Call<'_>,
    file: &mut Managed<'_, '_>,
    state: StateReturn,
    kwargs: &Map,
    digest: &str,
) -> Result<StateReturn, CallError> {
    let encoding = encoding(call)?;
    let digest = keys::digest(digest)?;
    let place = match file.look(&state)? {
        Look::Done(state) => return Ok(state),
        Look::At(place) => place,
    };
    let name = call.arg("name");
    let secret = build::text_of(
        &Map::from([("p", call.arg("private_key_passphrase").clone())]),
        "p",
    );
    let wanted = || UnsignedRequest::new(call.arg("private_key"), secret.as_deref(), kwargs);
    let mut changes = Map::new();
    let mut current = None;
    if place.exists {
        match Request::load(&place.value) {
            Ok((request, old)) => {
                compare_digest(&request.algorithm, &digest, &mut changes);
                if old != encoding {
                    changes.insert("encoding", encoding.name());
                }
                compare(&request, &wanted()?, &mut changes)?;
                current = Some(request);
            }
            Err(_) => {
                changes.insert("replaced", name.clone());
            }
        }
    }
    let what = "certificate signing request";
    let has_old = current.is_some();
    file.finish(state, what, changes, (&place, has_old), |changes| {
        let der = match current {
            Some(current) if only_encoding(changes) => current.der,
            _ => wanted()?.sign(&digest)?,
        };
        Ok(encode::other(&der, "CERTIFICATE REQUEST", encoding))
    })
}

fn compare(
    current: &Request,
    wanted: &UnsignedRequest,
    changes: &mut Map,
) -> Result<(), CallError> {
    if !PublicKey::from_der(&current.public_key)?.is_pair_of(&wanted.key) {
        changes.insert("private_key", true);
    }
    if current.subject != wanted.subject {
        changes.insert("subject_name", Value::from(wanted.subject.written()));
    }
    if let Some(differ) = extension::compare(&current.extensions, &wanted.extensions) {
        changes.insert("extensions", differ);
    }
    Ok(())
}
