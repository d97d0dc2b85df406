//! Identifiers of keys.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::conf::{contains, pairs};
use super::{Parties, identifier};
use crate::asn1::{Reader, octets, sequence, tag, tlv, unsigned};
use crate::general;
use crate::keys::key_identifier;
use crate::text::from_hex;

type Made = Result<(bool, Vec<u8>), CallError>;

pub(super) fn subject(value: &Value, parties: Parties<'_>) -> Made {
    if contains(value, "critical") {
        return Err(CallError::invocation(
            "subjectKeyIdentifier must be marked as non-critical",
        ));
    }
    let digest = match value {
        Value::Str(text) if text == "hash" => {
            let key = parties.subject.ok_or_else(|| {
                CallError::exception(
                    "RuntimeError",
                    "Cannot calculate digest for subjectKeyIdentifier: missing pubkey",
                )
            })?;
            key_identifier(key)?
        }
        Value::Str(text) => from_hex(&text.replace(':', ""))
            .ok_or_else(|| CallError::invocation("Value must be precomputed hash"))?,
        Value::Bytes(bytes) => bytes.clone(),
        _ => {
            return Err(CallError::invocation(
                "Value must be a (hex-)digest or pubkey",
            ));
        }
    };
    Ok((false, octets(&digest)))
}

pub(super) fn authority(value: &Value, parties: Parties<'_>) -> Made {
    if contains(value, "critical") {
        return Err(CallError::invocation(
            "authorityKeyIdentifier must be marked as non-critical",
        ));
    }
    let options: Map = match value {
        Value::Str(text) => {
            let (_, pairs) = pairs(text);
            pairs
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect()
        }
        Value::Map(map) => map.clone(),
        other => {
            return Err(CallError::invocation(format!(
                "authorityKeyIdentifier must be text or a dictionary, not {}",
                other.type_name()
            )));
        }
    };
    let option = |name: &str| options.get(name).map(python::str);
    let key = option("keyid").and_then(|_| issuer_key(parties));
    if option("keyid").as_deref() == Some("always") && key.is_none() {
        return Err(CallError::command(
            "Could not retrieve authorityKeyIdentifier keyid, but it was set to always",
        ));
    }
    let mut parts = Vec::new();
    if let Some(key) = &key {
        parts.push(tlv(tag::implicit(0), key));
    }
    let always = option("issuer").as_deref() == Some("always");
    if always || (option("issuer").is_some() && key.is_none()) {
        match parties.issuer {
            Some(issuer) => {
                let name = general::directory(issuer.issuer_der);
                parts.push(tlv(tag::explicit(1), &name));
                parts.push(tlv(tag::implicit(2), &unsigned(issuer.serial)));
            }
            None if always => {
                return Err(CallError::command(
                    "Could not add authority_cert_issuer and authority_cert_serial_number, but was set to always.",
                ));
            }
            None => {}
        }
    }
    Ok((false, sequence(&parts)))
}

/// What identifies the key of the issuer: what its certificate says, else a
/// digest of the key.
fn issuer_key(parties: Parties<'_>) -> Option<Vec<u8>> {
    let Some(issuer) = parties.issuer else {
        return key_identifier(parties.issuer_key?).ok();
    };
    let said = issuer
        .extensions
        .iter()
        .find(|extension| Some(extension.oid.as_str()) == identifier("subjectKeyIdentifier"));
    match said {
        Some(said) => Reader::one(&said.value, tag::OCTETS)
            .ok()
            .map(|item| item.body.to_vec()),
        None => key_identifier(issuer.public_key).ok(),
    }
}
