//! Revocation lists from arguments.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::signature::{algorithm, signed};
use super::{days, given, mismatch, serial, text_of};
use crate::asn1::{sequence, small, tag, tlv};
use crate::certificate::{Certificate, Revoked};
use crate::extension::{self, Extension, Parties};
use crate::keys::PrivateKey;
use crate::name::Name;
use crate::time;

/// A revocation list that is not signed yet.
pub(crate) struct UnsignedList {
    pub(crate) key: PrivateKey,
    pub(crate) issuer: Option<Name>,
    issuer_der: Vec<u8>,
    pub(crate) revoked: Vec<Revoked>,
    pub(crate) extensions: Vec<Extension>,
    now: i64,
    next_update: i64,
}

/// Entries may be maps, or a name with a list of maps; a reason may stand
/// outside of the extensions.
pub(crate) fn revoked_entries(value: &Value) -> Vec<Map> {
    let mut entries = Vec::new();
    for entry in value.as_list().unwrap_or_default() {
        let Value::Map(map) = entry else {
            continue;
        };
        let mut map = match (map.len(), map.iter().next()) {
            (1, Some((_, Value::List(parts)))) => {
                let mut merged = Map::new();
                for part in parts.iter().filter_map(Value::as_map) {
                    merged.extend(part.clone());
                }
                merged
            }
            _ => map.clone(),
        };
        if let Some(reason) = map.remove("reason") {
            let mut extensions = match map.remove("extensions") {
                Some(Value::Map(map)) => map,
                _ => Map::new(),
            };
            extensions.insert("CRLReason", reason);
            map.insert("extensions", extensions);
        }
        entries.push(map);
    }
    entries
}

impl UnsignedList {
    pub(crate) fn new(kwargs: &Map) -> Result<Self, CallError> {
        let certificate = match given(kwargs, "signing_cert") {
            Some(value) => Some(Certificate::load(value)?),
            None => None,
        };
        let key = kwargs.get("signing_private_key").unwrap_or(&Value::Nil);
        let passphrase = text_of(kwargs, "signing_private_key_passphrase");
        let (key, _) = PrivateKey::load(key, passphrase.as_deref())?;
        if let Some(certificate) = &certificate
            && !certificate.key()?.is_pair_of(&key)
        {
            return Err(mismatch());
        }
        let now = time::now();
        let mut revoked = Vec::new();
        for entry in revoked_entries(kwargs.get("revoked").unwrap_or(&Value::Nil)) {
            let with_expired = given(kwargs, "include_expired").is_some();
            revoked.extend(revoke(&entry, now, with_expired)?);
        }
        let parties = Parties {
            issuer: certificate.as_ref().map(Certificate::as_issuer),
            ..Parties::default()
        };
        let mut extensions = Vec::new();
        if let Some(Value::Map(wanted)) = kwargs.get("extensions") {
            for (name, value) in wanted {
                let name = python::str(name);
                if extension::is_of_lists(&name) {
                    extensions.push(extension::build(&name, value, parties)?);
                }
            }
        }
        let issuer_der = certificate.as_ref().map(|cert| cert.subject_der.clone());
        Ok(Self {
            key,
            issuer_der: issuer_der.unwrap_or_default(),
            issuer: certificate.map(|certificate| certificate.subject),
            revoked,
            extensions,
            now,
            next_update: time::later(now, days(kwargs, "days_valid", 100)?),
        })
    }

    pub(crate) fn sign(&self, digest: &str) -> Result<Vec<u8>, CallError> {
        if self.issuer.is_none() {
            return Err(CallError::exception(
                "ValueError",
                "A CRL must have an issuer name",
            ));
        }
        let algorithm = algorithm(self.key.kind, digest)?;
        let mut parts = vec![
            small(1),
            algorithm.clone(),
            self.issuer_der.clone(),
            time::der(self.now),
            time::der(self.next_update),
        ];
        if !self.revoked.is_empty() {
            let list: Vec<Vec<u8>> = self.revoked.iter().map(Revoked::der).collect();
            parts.push(sequence(&list));
        }
        if !self.extensions.is_empty() {
            let list: Vec<Vec<u8>> = self.extensions.iter().map(Extension::der).collect();
            parts.push(tlv(tag::explicit(0), &sequence(&list)));
        }
        signed(&self.key, digest, &algorithm, sequence(&parts))
    }
}

/// One entry; nothing for a certificate that has ended.
fn revoke(entry: &Map, now: i64, with_expired: bool) -> Result<Option<Revoked>, CallError> {
    let date = |name: &str| match text_of(entry, name) {
        Some(text) => time::parse(&text).map(Some),
        None => Ok(None),
    };
    let mut not_after = date("not_after")?;
    let serial = match entry.get("certificate") {
        Some(value) => {
            let certificate = Certificate::load(value)?;
            not_after = Some(certificate.not_after);
            certificate.serial
        }
        None => {
            let number = given(entry, "serial_number")
                .ok_or_else(|| CallError::invocation("Need serial_number or certificate"))?;
            serial(Some(number))?
        }
    };
    if !with_expired && not_after.is_some_and(|end| now > end) {
        return Ok(None);
    }
    let mut extensions = Vec::new();
    if let Some(Value::Map(wanted)) = entry.get("extensions") {
        for (name, value) in wanted {
            let name = python::str(name);
            if extension::OF_ENTRIES
                .iter()
                .any(|(known, _)| *known == name)
            {
                extensions.push(extension::build(&name, value, Parties::default())?);
            }
        }
    }
    Ok(Some(Revoked {
        serial,
        date: date("revocation_date")?.unwrap_or(now),
        extensions,
    }))
}
