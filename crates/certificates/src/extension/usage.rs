//! What a key may be used for, and flags.

use halite_call::{CallError, python};
use halite_proto::Value;

use super::conf::{contains, pairs};
use crate::asn1::{flags, null, oid, oid_to_der, sequence, small, tag, tlv};

type Made = Result<(bool, Vec<u8>), CallError>;

/// Uses of a key, by their bits.
pub(super) const KEY_USES: [&str; 9] = [
    "digitalSignature",
    "nonRepudiation",
    "keyEncipherment",
    "dataEncipherment",
    "keyAgreement",
    "keyCertSign",
    "cRLSign",
    "encipherOnly",
    "decipherOnly",
];

/// Purposes that have a name.
pub(super) const PURPOSES: &[(&str, &str)] = &[
    ("serverAuth", "1.3.6.1.5.5.7.3.1"),
    ("clientAuth", "1.3.6.1.5.5.7.3.2"),
    ("codeSigning", "1.3.6.1.5.5.7.3.3"),
    ("emailProtection", "1.3.6.1.5.5.7.3.4"),
    ("timeStamping", "1.3.6.1.5.5.7.3.8"),
    ("OCSPSigning", "1.3.6.1.5.5.7.3.9"),
    ("msSmartcardLogin", "1.3.6.1.4.1.311.20.2.2"),
    ("pkInitKDC", "1.3.6.1.5.2.3.5"),
    ("ipsecIKE", "1.3.6.1.5.5.7.3.17"),
    ("msCodeInd", "1.3.6.1.4.1.311.2.1.21"),
    ("msCodeCom", "1.3.6.1.4.1.311.2.1.22"),
    ("msCTLSign", "1.3.6.1.4.1.311.10.3.1"),
    ("msEFS", "1.3.6.1.4.1.311.10.3.4"),
];

/// The features of TLS that a certificate may promise.
pub(super) const TLS: [(&str, u64); 2] = [("status_request", 5), ("status_request_v2", 17)];

pub(super) fn key(value: &Value) -> Made {
    let uses = KEY_USES.map(|name| contains(value, name));
    if (uses[7] || uses[8]) && !uses[4] {
        return Err(CallError::invocation(
            "encipher_only and decipher_only can only be true when key_agreement is true",
        ));
    }
    Ok((contains(value, "critical"), tlv(tag::BITS, &flags(&uses))))
}

pub(super) fn extended(value: &Value) -> Made {
    let (critical, names) = match value {
        Value::Str(text) => {
            let (critical, pairs) = pairs(text);
            (critical, pairs.into_iter().map(|(key, _)| key).collect())
        }
        Value::List(items) => (
            contains(value, "critical"),
            items.iter().map(python::str).collect(),
        ),
        other => (false, vec![python::str(other)]),
    };
    let mut parts = Vec::new();
    for name in names.iter().filter(|name| *name != "critical") {
        let known = PURPOSES.iter().find(|(known, _)| known == name);
        parts.push(identifier(known.map_or(name.as_str(), |(_, oid)| oid))?);
    }
    Ok((critical, sequence(&parts)))
}

/// An identifier with dots, in DER.
pub(super) fn identifier(dotted: &str) -> Result<Vec<u8>, CallError> {
    match oid_to_der(dotted) {
        Some(_) => Ok(oid(dotted)),
        None => Err(CallError::command(format!("Invalid oid: {dotted}"))),
    }
}

pub(super) fn no_check(value: &Value) -> (bool, Vec<u8>) {
    (python::str(value).contains("critical"), null())
}

pub(super) fn tls(value: &Value) -> Made {
    let names = match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => python::texts(other),
    };
    let mut parts = Vec::new();
    for name in names.iter().filter(|name| *name != "critical") {
        let known = TLS.iter().find(|(known, _)| known == name);
        let (_, number) =
            known.ok_or_else(|| CallError::invocation(format!("unknown TLS feature: {name}")))?;
        parts.push(small(*number));
    }
    let critical = names.iter().any(|name| name == "critical");
    Ok((critical, sequence(&parts)))
}
