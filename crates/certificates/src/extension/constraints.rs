//! Basic constraints and constraints of names.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::conf::{contains, pairs};
use crate::asn1::{boolean, sequence, small, tag, tlv};
use crate::general::{self, Pair};

type Made = Result<(bool, Vec<u8>), CallError>;

pub(super) fn basic(value: &Value) -> Made {
    let (critical, ca, pathlen) = match value {
        Value::Str(text) => {
            let (critical, pairs) = pairs(&text.to_lowercase());
            let find = |name: &str| pairs.iter().rev().find(|(key, _)| key == name);
            let wrong = |error: String| {
                CallError::invocation(format!(
                    "Invalid configuration for basicContraints: {error}"
                ))
            };
            let (_, ca) = find("ca").ok_or_else(|| wrong("'ca'".to_owned()))?;
            let pathlen = match find("pathlen") {
                None => None,
                Some((_, text)) => Some(text.parse::<i64>().map_err(|_| {
                    wrong(format!("invalid literal for int() with base 10: '{text}'"))
                })?),
            };
            (critical, ca == "true", pathlen)
        }
        Value::Map(map) => {
            let ca = map.get("ca").ok_or_else(|| {
                CallError::invocation("Undefined required key for basicConstraints: 'ca'")
            })?;
            let Value::Bool(ca) = ca else {
                return Err(CallError::invocation("ca must be a boolean value"));
            };
            let pathlen = match map.get("pathlen") {
                None | Some(Value::Nil) => None,
                Some(value) => Some(value.as_i64().ok_or_else(not_a_length)?),
            };
            (
                map.get("critical").is_some_and(Value::is_true),
                *ca,
                pathlen,
            )
        }
        other => {
            return Err(CallError::invocation(format!(
                "basicConstraints must be text or a dictionary, not {}",
                other.type_name()
            )));
        }
    };
    if pathlen.is_some() && !ca {
        return Err(CallError::invocation(
            "path_length must be None when ca is False",
        ));
    }
    let mut parts = Vec::new();
    if ca {
        parts.push(boolean(true));
    }
    if let Some(pathlen) = pathlen {
        parts.push(small(u64::try_from(pathlen).map_err(|_| not_a_length())?));
    }
    Ok((critical, sequence(&parts)))
}

fn not_a_length() -> CallError {
    CallError::invocation("path_length must be a non-negative integer or None")
}

/// The names of one scope.
fn scope(map: &Map, name: &str) -> Result<Option<Vec<Pair>>, CallError> {
    let Some(value) = map.get(name) else {
        return Ok(None);
    };
    let mut pairs = Vec::new();
    for item in value.as_list().unwrap_or_default() {
        match item {
            Value::Str(text) if text != "critical" => pairs.push(general::pair(text)?),
            Value::Map(map) => {
                pairs.extend(map.iter().map(|(k, v)| (python::str(k), v.clone())));
            }
            _ => {}
        }
    }
    Ok(Some(pairs))
}

pub(super) fn names(value: &Value) -> Made {
    let critical = contains(value, "critical");
    let (permitted, excluded) = match value {
        Value::Map(map) => (scope(map, "permitted")?, scope(map, "excluded")?),
        Value::Str(text) => {
            let of = |wanted: &str| -> Result<Option<Vec<Pair>>, CallError> {
                let found = text
                    .split(',')
                    .filter_map(|item| item.trim().split_once(';'))
                    .filter(|(scope, _)| *scope == wanted)
                    .map(|(_, name)| general::pair(name));
                Ok(Some(found.collect::<Result<_, _>>()?))
            };
            (of("permitted")?, of("excluded")?)
        }
        _ => (None, None),
    };
    let mut parts = Vec::new();
    for (number, pairs) in [(0, permitted), (1, excluded)] {
        let pairs = pairs.unwrap_or_default();
        if pairs.is_empty() {
            continue;
        }
        let mut trees = Vec::new();
        for pair in &pairs {
            trees.extend(tlv(tag::SEQUENCE, &general::encode(pair)?));
        }
        parts.push(tlv(tag::explicit(number), &trees));
    }
    if parts.is_empty() {
        return Err(CallError::invocation(
            "nameConstraints needs at least one definition",
        ));
    }
    Ok((critical, sequence(&parts)))
}
