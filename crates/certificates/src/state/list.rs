//! Revocation lists.

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::file::{Look, Managed, outcome, unrecognized};
use super::request::{compare_digest, encoding, only_encoding};
use crate::asn1::{Reader, tag};
use crate::build::{UnsignedList, same_number};
use crate::certificate::{List, Revoked};
use crate::containers::{Signed, is_signed_by};
use crate::encode;
use crate::extension::{self, Extension};
use crate::keys;
use crate::text::pretty_number;
use crate::time;

/// A list that ends within so many days is made anew.
const DAYS_REMAINING: i64 = 30;
const DAYS_VALID: i64 = 100;

pub(super) fn managed(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.kwargs().clone();
    kwargs.remove("text");
    let (mut file, rest) = Managed::new(call, kwargs);
    unrecognized(&rest)?;
    let state = StateReturn::of(call).ok("The certificate revocation list is in the correct state");
    let done = manage(call, &mut file, state.clone());
    outcome(state, done)
}

fn days(call: &Call<'_>, name: &str, default: i64) -> Result<i64, CallError> {
    match call.arg(name) {
        Value::Nil => Ok(default),
        value => python::int(value),
    }
}

/// The list that is asked for, with `number` as its number where that counts
/// on its own.
fn wanted(call: &Call<'_>, number: Option<i64>) -> Result<UnsignedList, CallError> {
    let names = [
        "signing_private_key",
        "revoked",
        "signing_cert",
        "signing_private_key_passphrase",
        "include_expired",
    ];
    let mut kwargs: Map = names
        .map(|name| (name, call.arg(name).clone()))
        .into_iter()
        .collect();
    kwargs.insert("days_valid", days(call, "days_valid", DAYS_VALID)?);
    let mut extensions = call.arg("extensions").as_map().cloned().unwrap_or_default();
    if is_counted(call) {
        match number {
            Some(number) => extensions.insert("cRLNumber", number),
            None => extensions.remove("cRLNumber"),
        };
    }
    kwargs.insert("extensions", extensions);
    UnsignedList::new(&kwargs)
}

/// Whether the number of the list counts on its own.
fn is_counted(call: &Call<'_>) -> bool {
    let number = call.arg("extensions").get("cRLNumber");
    number.and_then(Value::as_str) == Some("auto")
}

fn number_of(list: &List) -> Option<i64> {
    let mut all = list.extensions.iter();
    let own = all.find(|own| Some(own.oid.as_str()) == extension::identifier("cRLNumber"))?;
    Reader::one(&own.value, tag::INTEGER).ok()?.number().ok()
}

fn manage(
    call: &Call<'_>,
    file: &mut Managed<'_, '_>,
    state: StateReturn,
) -> Result<StateReturn, CallError> {
    let encoding = encoding(call)?;
    let digest = keys::digest(&call.text("digest"))?;
    let place = match file.look(&state)? {
        Look::Done(state) => return Ok(state),
        Look::At(place) => place,
    };
    let name = call.arg("name");
    let mut changes = Map::new();
    let mut current = None;
    if place.exists {
        match List::load(&place.value) {
            Ok((list, old)) => {
                compare_digest(&list.algorithm, &digest, &mut changes);
                if old != encoding {
                    changes.insert("encoding", encoding.name());
                }
                let remaining = days(call, "days_remaining", DAYS_REMAINING)?;
                let limit = time::later(time::now(), remaining);
                if remaining != 0 && list.next_update.is_some_and(|next| next < limit) {
                    changes.insert("expiration", true);
                }
                compare(&list, &wanted(call, None)?, is_counted(call), &mut changes)?;
                current = Some(list);
            }
            Err(CallError::Invocation(_)) => {
                changes.insert("replaced", name.clone());
            }
            Err(other) => return Err(other),
        }
    }
    let what = "certificate revocation list";
    let has_old = current.is_some();
    file.finish(state, what, changes, (&place, has_old), |changes| {
        let der = match &current {
            Some(current) if only_encoding(changes) => current.der.clone(),
            current => {
                let last = current.as_ref().and_then(number_of).unwrap_or(0);
                wanted(call, Some(last.saturating_add(1)))?.sign(&digest)?
            }
        };
        Ok(encode::other(&der, "X509 CRL", encoding))
    })
}

fn compare(
    current: &List,
    wanted: &UnsignedList,
    counted: bool,
    changes: &mut Map,
) -> Result<(), CallError> {
    match &wanted.issuer {
        Some(issuer) if *issuer != current.issuer => {
            changes.insert("issuer_name", issuer.written());
        }
        _ => {}
    }
    if !is_signed_by(Signed::List, &current.der, &wanted.key.public()?)? {
        changes.insert("public_key", true);
    }
    if let Some(differ) = revocations(&current.revoked, &wanted.revoked) {
        changes.insert("revocations", differ);
    }
    let own: Vec<Extension> = current
        .extensions
        .iter()
        .filter(|own| !counted || Some(own.oid.as_str()) != extension::identifier("cRLNumber"))
        .cloned()
        .collect();
    if let Some(differ) = extension::compare(&own, &wanted.extensions) {
        changes.insert("extensions", differ);
    }
    Ok(())
}

fn revocations(current: &[Revoked], wanted: &[Revoked]) -> Option<Map> {
    let find = |list: &[Revoked], serial: &[u8]| -> Option<Revoked> {
        list.iter()
            .find(|entry| same_number(&entry.serial, serial))
            .cloned()
    };
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    for entry in wanted {
        match find(current, &entry.serial) {
            None => added.push(pretty_number(&entry.serial).into()),
            Some(old) if extension::compare(&old.extensions, &entry.extensions).is_some() => {
                changed.push(pretty_number(&entry.serial).into());
            }
            Some(_) => {}
        }
    }
    let removed: Vec<Value> = current
        .iter()
        .filter(|entry| find(wanted, &entry.serial).is_none())
        .map(|entry| pretty_number(&entry.serial).into())
        .collect();
    if added.is_empty() && changed.is_empty() && removed.is_empty() {
        return None;
    }
    Some(Map::from([
        ("added", Value::List(added)),
        ("changed", Value::List(changed)),
        ("removed", Value::List(removed)),
    ]))
}
