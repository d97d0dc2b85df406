//! Where revocation lists are found, and what a list is for.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::conf::{contains, pairs};
use crate::asn1::{flags, sequence, tag, tlv};
use crate::general::{self, Pair};
use crate::name;

type Made = Result<(bool, Vec<u8>), CallError>;

/// Reasons of a revocation, by their bits where reasons are a set.
pub(super) const REASONS: [&str; 9] = [
    "unused",
    "keyCompromise",
    "cACompromise",
    "affiliationChanged",
    "superseded",
    "cessationOfOperation",
    "certificateHold",
    "privilegeWithdrawn",
    "aACompromise",
];

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => vec![python::str(other)],
    }
}

fn names(value: &Value) -> Result<Vec<u8>, CallError> {
    let pairs: Vec<Pair> = texts(value)
        .iter()
        .map(|text| general::pair(text))
        .collect::<Result<_, _>>()?;
    general::encode_all(&pairs)
}

fn reasons(value: &Value) -> Result<Vec<u8>, CallError> {
    let wanted = texts(value);
    for reason in &wanted {
        if !REASONS.iter().skip(1).any(|known| known == reason) {
            return Err(CallError::invocation(format!(
                "'{reason}' is not a valid ReasonFlags"
            )));
        }
    }
    let set = REASONS.map(|known| wanted.iter().any(|reason| reason == known));
    Ok(flags(&set))
}

/// The name of a point: in full, or relative to its issuer.
fn place(map: &Map) -> Result<Option<Vec<u8>>, CallError> {
    let given = |name: &str| map.get(name).filter(|value| value.is_true());
    let inner = match (given("fullname"), given("relativename")) {
        (Some(_), Some(_)) => {
            return Err(CallError::invocation(
                "You cannot provide both full_name and relative_name, at least one must be None.",
            ));
        }
        (Some(full), None) => tlv(tag::explicit(0), &names(full)?),
        (None, Some(relative)) => tlv(
            tag::explicit(1),
            &name::relative_content(&python::str(relative))?,
        ),
        (None, None) => return Ok(None),
    };
    Ok(Some(tlv(tag::explicit(0), &inner)))
}

fn point(map: &Map) -> Result<Vec<u8>, CallError> {
    let given = |name: &str| map.get(name).filter(|value| value.is_true());
    let mut parts: Vec<Vec<u8>> = place(map)?.into_iter().collect();
    if let Some(why) = given("reasons") {
        parts.push(tlv(tag::implicit(1), &reasons(why)?));
    }
    if let Some(issuer) = given("crlissuer") {
        parts.push(tlv(tag::explicit(2), &names(issuer)?));
    }
    if parts.is_empty() {
        return Err(CallError::invocation(
            "Either full_name, relative_name or crl_issuer must be provided.",
        ));
    }
    Ok(sequence(&parts))
}

pub(super) fn distribution(value: &Value) -> Made {
    let full = |pair: Pair| -> Result<Vec<u8>, CallError> {
        let name = tlv(tag::explicit(0), &general::encode(&pair)?);
        Ok(sequence(&[tlv(tag::explicit(0), &name)]))
    };
    let mut points = Vec::new();
    let critical = match value {
        Value::Str(text) => {
            let (critical, pairs) = pairs(text);
            for (kind, name) in pairs {
                points.push(full((kind, name.into()))?);
            }
            critical
        }
        Value::List(items) => {
            for item in items {
                match item {
                    Value::Map(map) => points.push(point(map)?),
                    Value::Str(text) if text == "critical" => {}
                    other => points.push(full(general::pair(&python::str(other))?)?),
                }
            }
            contains(value, "critical")
        }
        other => {
            return Err(CallError::invocation(format!(
                "distribution points must be text or a list, not {}",
                other.type_name()
            )));
        }
    };
    Ok((critical, sequence(&points)))
}

pub(super) fn issuing(value: &Value) -> Made {
    let map = value
        .as_map()
        .ok_or_else(|| CallError::invocation("issuingDistributionPoint must be a dictionary"))?;
    let flag = |name: &str| map.get(name).is_some_and(Value::is_true);
    let only = ["onlyuser", "onlyCA", "onlyAA"];
    if only.iter().filter(|name| flag(name)).count() > 1 {
        return Err(CallError::invocation(
            "Only one of the following can be set to True: only_contains_user_certs, only_contains_ca_certs, indirect_crl, only_contains_attribute_certs",
        ));
    }
    let yes = |number: u8| tlv(tag::implicit(number), &[0xff]);
    let mut parts: Vec<Vec<u8>> = place(map)?.into_iter().collect();
    if flag("onlyuser") {
        parts.push(yes(1));
    }
    if flag("onlyCA") {
        parts.push(yes(2));
    }
    if let Some(some) = map.get("onlysomereasons").filter(|some| some.is_true()) {
        parts.push(tlv(tag::implicit(3), &reasons(some)?));
    }
    if flag("indirectCRL") {
        parts.push(yes(4));
    }
    if flag("onlyAA") {
        parts.push(yes(5));
    }
    if parts.is_empty() {
        return Err(CallError::invocation(
            "Cannot create empty extension: if only_contains_user_certs, only_contains_ca_certs, indirect_crl, and only_contains_attribute_certs are all False, then either full_name, relative_name, or only_some_reasons must have a value.",
        ));
    }
    Ok((flag("critical"), sequence(&parts)))
}
