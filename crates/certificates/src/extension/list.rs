//! Extensions of revocation lists and their entries.

use halite_call::{CallError, python};
use halite_proto::Value;

use super::conf::pairs;
use crate::asn1::{integer, small, tag, tlv};
use crate::time;

type Made = Result<(bool, Vec<u8>), CallError>;

/// Reasons of a revocation by their numbers.
pub(super) const REASONS: [(&str, u8); 10] = [
    ("unspecified", 0),
    ("keyCompromise", 1),
    ("cACompromise", 2),
    ("affiliationChanged", 3),
    ("superseded", 4),
    ("cessationOfOperation", 5),
    ("certificateHold", 6),
    ("removeFromCRL", 8),
    ("privilegeWithdrawn", 9),
    ("aACompromise", 10),
];

pub(super) fn number(value: &Value) -> Made {
    let number = python::int(value)
        .ok()
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| {
            CallError::invocation("cRLNumber must be an integer and must be marked as non-critical")
        })?;
    Ok((false, integer(&number.to_be_bytes())))
}

pub(super) fn delta(value: &Value) -> Made {
    let text = python::str(value);
    let mut numbers = text
        .split(|char: char| !char.is_ascii_digit())
        .filter(|part| !part.is_empty());
    match (numbers.next().map(str::parse::<u64>), numbers.next()) {
        (Some(Ok(number)), None) => Ok((text.contains("critical"), small(number))),
        _ => Err(CallError::invocation(
            "deltaCRLIndicator must contain a single integer pointing to a cRLNumber",
        )),
    }
}

pub(super) fn reason(value: &Value) -> Made {
    let (critical, names) = match value {
        Value::List(items) => {
            let names: Vec<String> = items.iter().map(python::str).collect();
            (names.iter().any(|name| name == "critical"), names)
        }
        other => {
            let (critical, pairs) = pairs(&python::str(other));
            (critical, pairs.into_iter().map(|(key, _)| key).collect())
        }
    };
    let name = names
        .into_iter()
        .find(|name| name != "critical")
        .unwrap_or_default();
    let known = REASONS.iter().find(|(known, _)| *known == name);
    let (_, number) = known
        .ok_or_else(|| CallError::invocation(format!("'{name}' is not a valid ReasonFlags")))?;
    Ok((critical, tlv(tag::ENUMERATED, &[*number])))
}

pub(super) fn invalid_since(value: &Value) -> Made {
    let Value::Str(text) = value else {
        return Err(CallError::invocation("invalidityDate must be a string"));
    };
    let critical = text.starts_with("critical");
    let date = match text.split_once(' ') {
        Some((_, date)) if critical => date,
        _ => text.as_str(),
    };
    let date = time::parse(date).map_err(|error| match error {
        CallError::Exception { message, .. } => CallError::invocation(message),
        other => other,
    })?;
    Ok((critical, time::generalized(date)))
}
