//! Policies under which a certificate is issued.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::conf::{contains, pairs};
use super::usage::identifier;
use crate::asn1::{oid, sequence, small, tag, tlv, unsigned, utf8};

type Made = Result<(bool, Vec<u8>), CallError>;

pub(super) const PRACTICE: &str = "1.3.6.1.5.5.7.2.1";
pub(super) const NOTICE: &str = "1.3.6.1.5.5.7.2.2";

pub(super) fn certificate(value: &Value) -> Made {
    match value {
        Value::Str(text) => {
            let mut parts = Vec::new();
            for id in text
                .split(',')
                .map(str::trim)
                .filter(|id| *id != "critical")
            {
                let id = identifier(id).map_err(|_| {
                    CallError::invocation(
                        "certificatePolicies defined as string must be a comma-separated list of OID.",
                    )
                })?;
                parts.push(sequence(&[id]));
            }
            Ok((text.starts_with("critical"), sequence(&parts)))
        }
        Value::Map(map) => {
            let mut parts = Vec::new();
            for (id, qualifiers) in map {
                let id = python::str(id);
                if id == "critical" {
                    continue;
                }
                let mut policy = vec![identifier(&id)?];
                let qualifiers: Vec<Vec<u8>> = qualifiers
                    .as_list()
                    .unwrap_or_default()
                    .iter()
                    .map(qualifier)
                    .collect::<Result<_, _>>()?;
                if !qualifiers.is_empty() {
                    policy.push(sequence(&qualifiers));
                }
                parts.push(sequence(&policy));
            }
            let critical = map.get("critical").is_some_and(Value::is_true);
            Ok((critical, sequence(&parts)))
        }
        other => Err(CallError::invocation(format!(
            "certificatePolicies must be text or a dictionary, not {}",
            other.type_name()
        ))),
    }
}

/// The address of a statement, or a notice.
fn qualifier(value: &Value) -> Result<Vec<u8>, CallError> {
    let Value::Map(map) = value else {
        let place = tlv(tag::IA5, python::str(value).as_bytes());
        return Ok(sequence(&[oid(PRACTICE), place]));
    };
    let mut notice = Vec::new();
    if let Some(numbers) = map.get("noticeNumbers").filter(|some| some.is_true()) {
        let organization = map.get("organization").map(python::str);
        let organization = organization.ok_or_else(|| {
            CallError::command("noticeNumbers needs an organization that they belong to")
        })?;
        let list = numbers.as_list().unwrap_or_default();
        let numbers: Vec<Vec<u8>> = list
            .iter()
            .map(|number| {
                let number = number
                    .as_i64()
                    .and_then(|number| u64::try_from(number).ok());
                number
                    .map(small)
                    .ok_or_else(|| CallError::command("noticeNumbers must be a list of integers"))
            })
            .collect::<Result<_, _>>()?;
        notice.push(sequence(&[utf8(&organization), sequence(&numbers)]));
    }
    if let Some(text) = map.get("text").filter(|text| text.is_true()) {
        notice.push(utf8(&python::str(text)));
    }
    Ok(sequence(&[oid(NOTICE), sequence(&notice)]))
}

pub(super) fn constraints(value: &Value) -> Made {
    let (critical, map): (bool, Map) = match value {
        Value::Str(text) => {
            let (critical, pairs) = pairs(text);
            let pairs = pairs.into_iter().map(|(k, v)| (k, Value::from(v)));
            (critical, pairs.collect())
        }
        Value::Map(map) => (contains(value, "critical"), map.clone()),
        _ => (false, Map::new()),
    };
    let mut parts = Vec::new();
    for (number, name) in [(0, "requireExplicitPolicy"), (1, "inhibitPolicyMapping")] {
        if let Some(value) = map.get(name) {
            parts.push(tlv(tag::implicit(number), &unsigned(&skip(value)?)));
        }
    }
    if parts.is_empty() {
        return Err(CallError::invocation(
            "At least one of require_explicit_policy and inhibit_policy_mapping must not be None",
        ));
    }
    Ok((critical, sequence(&parts)))
}

pub(super) fn inhibit_any(value: &Value) -> Made {
    let (critical, count) = match value {
        Value::Int(_) => (false, value.clone()),
        Value::Str(text) => {
            let (critical, pairs) = pairs(text);
            let first = pairs.into_iter().next().map(|(key, _)| key);
            (critical, first.unwrap_or_default().into())
        }
        Value::Map(map) => {
            let count = map.get("value").cloned().ok_or_else(|| {
                CallError::invocation("Undefined required key for inhibitAnyPolicy: 'value'")
            })?;
            (contains(value, "critical"), count)
        }
        _ => return Err(CallError::invocation("skip_certs must be an integer")),
    };
    Ok((critical, crate::asn1::integer(&skip(&count)?)))
}

/// How many certificates to skip.
fn skip(value: &Value) -> Result<[u8; 8], CallError> {
    let number = python::int(value)?;
    let number = u64::try_from(number)
        .map_err(|_| CallError::invocation("skip_certs must be a non-negative integer"))?;
    Ok(number.to_be_bytes())
}
