//! What certificates, requests and lists say.

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

use super::{any_public_key, passphrase, pem};
use crate::build::algorithm_name;
use crate::certificate::{Certificate, List, Request};
use crate::extension::{self, Extension};
use crate::keys::{KeyKind, PrivateKey, PublicKey, digest_of, key_identifier};
use crate::text::{pretty_hex, pretty_number};
use crate::{policy, time};

/// The extensions that have a name.
fn extensions(known: &[(&str, &str)], all: &[Extension]) -> Map {
    known
        .iter()
        .filter(|(name, _)| !["nsComment", "nsCertType"].contains(name))
        .filter_map(|(name, oid)| {
            let found = all.iter().find(|extension| extension.oid == *oid)?;
            Some((*name, extension::show(found)))
        })
        .collect()
}

/// What OpenSSL names files in directories of certificates by, with the bytes
/// as they lie in memory.
fn name_hash(name_der: &[u8]) -> Result<String, CallError> {
    let digest = digest_of("sha1", name_der)?;
    let first: Vec<u8> = digest.iter().take(4).rev().copied().collect();
    Ok(pretty_hex(&first))
}

/// The size, of kinds that have one.
fn size(key: &PublicKey) -> Value {
    match key.kind {
        KeyKind::Rsa | KeyKind::Ec => i64::from(key.bits()).into(),
        KeyKind::Ed25519 | KeyKind::Ed448 => Value::Nil,
    }
}

pub(super) fn certificate(call: &Call<'_>) -> CallResult {
    show(call, call.arg("certificate"))
}

fn show(call: &Call<'_>, value: &Value) -> CallResult {
    shown_certificate(&Certificate::load(value)?, call.opt("fips_mode").is_true())
}

pub(crate) fn shown_certificate(certificate: &Certificate, is_fips: bool) -> CallResult {
    let key = certificate.key()?;
    let fingerprint = |name: &str| -> Result<Value, CallError> {
        Ok(pretty_hex(&digest_of(name, &certificate.der)?).into())
    };
    let mut fingerprints = Map::from([
        ("sha1", fingerprint("sha1")?),
        ("sha256", fingerprint("sha256")?),
    ]);
    if !is_fips {
        fingerprints.insert("md5", fingerprint("md5")?);
    }
    Ok(Map::from([
        ("version", Value::from(certificate.version)),
        ("key_size", size(&key)),
        ("key_type", key.kind.name().into()),
        ("serial_number", pretty_number(&certificate.serial).into()),
        ("fingerprints", fingerprints.into()),
        ("subject", certificate.subject.attributes().into()),
        ("subject_hash", name_hash(&certificate.subject_der)?.into()),
        ("subject_str", certificate.subject.written().into()),
        ("issuer", certificate.issuer.attributes().into()),
        ("issuer_hash", name_hash(&certificate.issuer_der)?.into()),
        ("issuer_str", certificate.issuer.written().into()),
        ("not_before", time::text(certificate.not_before).into()),
        ("not_after", time::text(certificate.not_after).into()),
        ("public_key", key.pem().into()),
        (
            "extensions",
            extensions(extension::KNOWN, &certificate.extensions).into(),
        ),
        (
            "signature_algorithm",
            algorithm_name(&certificate.algorithm).into(),
        ),
    ])
    .into())
}

pub(super) fn certificates(call: &Call<'_>) -> CallResult {
    let mut all = Map::new();
    for path in pem::files(call)? {
        let value = Value::from(path.as_str());
        all.insert(path, show(call, &value)?);
    }
    Ok(all.into())
}

pub(super) fn crl(call: &Call<'_>) -> CallResult {
    let (list, _) = List::load(call.arg("crl"))?;
    shown_list(&list)
}

pub(crate) fn shown_list(list: &List) -> CallResult {
    let mut revoked = Map::new();
    for entry in &list.revoked {
        let shown = Map::from([
            ("revocation_date", Value::from(time::text(entry.date))),
            (
                "extensions",
                extensions(extension::OF_ENTRIES, &entry.extensions).into(),
            ),
        ]);
        revoked.insert(pretty_number(&entry.serial).replace(':', ""), shown);
    }
    let next = list.next_update.map(time::text);
    Ok(Map::from([
        ("issuer", Value::from(list.issuer.attributes())),
        ("last_update", time::text(list.last_update).into()),
        ("next_update", next.map_or(Value::Nil, Value::from)),
        ("revoked_certificates", revoked.into()),
        (
            "extensions",
            extensions(extension::KNOWN, &list.extensions).into(),
        ),
        (
            "signature_algorithm",
            algorithm_name(&list.algorithm).into(),
        ),
    ])
    .into())
}

pub(super) fn csr(call: &Call<'_>) -> CallResult {
    let (request, _) = Request::load(call.arg("csr"))?;
    shown_request(&request)
}

pub(crate) fn shown_request(request: &Request) -> CallResult {
    let key = PublicKey::from_der(&request.public_key)?;
    Ok(Map::from([
        ("key_size", size(&key)),
        ("key_type", key.kind.name().into()),
        ("subject", request.subject.attributes().into()),
        ("subject_hash", name_hash(&request.subject_der)?.into()),
        ("subject_str", request.subject.written().into()),
        (
            "public_key_hash",
            pretty_hex(&key_identifier(&request.public_key)?).into(),
        ),
        (
            "extensions",
            extensions(extension::KNOWN, &request.extensions).into(),
        ),
    ])
    .into())
}

pub(super) fn private_key_size(call: &Call<'_>) -> CallResult {
    let secret = passphrase(call, "passphrase");
    let (key, _) = PrivateKey::load(call.arg("private_key"), secret.as_deref())?;
    Ok(size(&key.public()?))
}

pub(super) fn public_key(call: &Call<'_>) -> CallResult {
    let secret = passphrase(call, "passphrase");
    let key = any_public_key(call.arg("key"), secret.as_deref())?;
    Ok(key.pem().into())
}

pub(super) fn signing_policy(call: &Call<'_>) -> CallResult {
    let server = call.text_opt("ca_server");
    Ok(policy::get(call, call.arg("signing_policy"), server.as_deref())?.into())
}
