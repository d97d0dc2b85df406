//! Where to ask about a certificate.

use halite_call::{CallError, python};
use halite_proto::Value;

use super::usage::identifier;
use crate::asn1::{sequence, tag, tlv};
use crate::general;

/// Ways of access that have a name.
pub(super) const WAYS: [(&str, &str); 3] = [
    ("OCSP", "1.3.6.1.5.5.7.48.1"),
    ("caIssuers", "1.3.6.1.5.5.7.48.2"),
    ("caRepository", "1.3.6.1.5.5.7.48.5"),
];

pub(super) fn authority(value: &Value) -> Result<(bool, Vec<u8>), CallError> {
    let of_map = |value: &Value| -> Vec<(String, String)> {
        let entries = value.as_map().into_iter().flat_map(|map| map.iter());
        entries
            .map(|(key, value)| (python::str(key), python::str(value)))
            .collect()
    };
    let pairs: Vec<(String, String)> = match value {
        Value::Str(text) => {
            let items = text.split(',').map(str::trim);
            items
                .filter(|item| *item != "critical")
                .map(|item| {
                    let pair = item.split_once(';');
                    pair.map(|(way, name)| (way.to_owned(), name.to_owned()))
                        .ok_or_else(|| {
                            CallError::exception("ValueError", format!("{item} names no access"))
                        })
                })
                .collect::<Result<_, _>>()?
        }
        Value::List(items) => items.iter().flat_map(of_map).collect(),
        map => of_map(map),
    };
    let mut parts = Vec::new();
    for (way, name) in pairs.iter().filter(|(way, _)| way != "critical") {
        let known = WAYS.iter().find(|(known, _)| known == way);
        let method = identifier(known.map_or(way.as_str(), |(_, oid)| oid))
            .map_err(|_| CallError::command(format!("Unknown access OID: {way}")))?;
        let place = general::encode(&general::pair(name)?)?;
        parts.push(tlv(tag::SEQUENCE, &[method, place].concat()));
    }
    Ok((false, sequence(&parts)))
}
