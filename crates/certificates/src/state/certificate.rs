//! Certificates.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use super::file::{Look, Managed, outcome};
use super::request::compare_digest;
use crate::build::{self, Signer, Unsigned, same_number};
use crate::certificate::{Certificate, Loaded};
use crate::containers::{Protection, Signed, is_signed_by};
use crate::encode::{self, Company, Encoded};
use crate::extension;
use crate::functions::chain;
use crate::keys::{self, Encoding, PrivateKey};
use crate::text::from_base64;
use crate::{policy, time};

/// A certificate that ends within so many days is made anew.
const DAYS_REMAINING: i64 = 90;
const DAYS_VALID: i64 = 365;

/// What the state says of a file that another has made.
pub(super) const NOT_IN_TEST: &str = ". The file was not actually updated - please pass test=opts.get(\"test\") into the wrapper to enable proper test mode support.";

/// Arguments that have a place of their own.
const PLACED: [&str; 12] = [
    "digest",
    "signing_private_key",
    "signing_private_key_passphrase",
    "signing_cert",
    "public_key",
    "private_key",
    "private_key_passphrase",
    "csr",
    "subject",
    "serial_number",
    "not_before",
    "not_after",
];

/// The certificate that the arguments describe.
struct DesiredCertificate {
    kwargs: Map,
    encoding: Encoding,
    server: Option<String>,
    chain: Vec<Certificate>,
}

pub(super) fn managed(call: &Call<'_>) -> CallResult {
    let mut kwargs = call.kwargs().clone();
    let digest = kwargs.remove("algorithm");
    build::short_names(&mut kwargs);
    for old in ["text", "version", "serial_bits"] {
        kwargs.remove(old);
    }
    let (mut file, mut kwargs) = Managed::new(call, kwargs);
    for name in PLACED {
        kwargs.insert(name, call.arg(name).clone());
    }
    if let Some(digest) = digest {
        kwargs.insert("digest", digest);
    }
    let days = match (call.arg("days_valid"), call.arg("not_after")) {
        (Value::Nil, Value::Nil) => DAYS_VALID.into(),
        (days, _) => days.clone(),
    };
    kwargs.insert("days_valid", days);
    let state = StateReturn::of(call).ok("The certificate is in the correct state");
    let done =
        wanted(call, kwargs).and_then(|wanted| manage(call, &mut file, state.clone(), &wanted));
    outcome(state, done)
}

fn wanted(call: &Call<'_>, kwargs: Map) -> Result<DesiredCertificate, CallError> {
    let name = call.text("encoding");
    let encoding = Encoding::parse(&name).ok_or_else(|| {
        CallError::command(format!(
            "Invalid value '{name}' for encoding. Valid: der, pem, pkcs7_der, pkcs7_pem, pkcs12"
        ))
    })?;
    Ok(DesiredCertificate {
        kwargs,
        encoding,
        server: call.text_opt("ca_server"),
        chain: chain(call.arg("append_certs"))?,
    })
}

fn manage(
    call: &Call<'_>,
    file: &mut Managed<'_, '_>,
    state: StateReturn,
    wanted: &DesiredCertificate,
) -> Result<StateReturn, CallError> {
    let place = match file.look(&state)? {
        Look::Done(state) => return Ok(state),
        Look::At(place) => place,
    };
    let name = call.arg("name");
    let mut changes = Map::new();
    let mut current: Option<Loaded> = None;
    let mut unsigned = None;
    if place.exists {
        let secret = secret(call);
        match Certificate::load_all(&place.value, secret.as_deref()) {
            Ok(loaded) => {
                unsigned = Some(compare(call, &loaded, wanted, &mut changes)?);
                current = Some(loaded);
            }
            Err(error) if error.to_string().starts_with("Bad decrypt") => {
                changes.insert("pkcs12_passphrase", true);
            }
            Err(CallError::Invocation(_)) => {
                changes.insert("replaced", name.clone());
            }
            Err(other) => return Err(other),
        }
    }
    let has_old = current.is_some();
    file.finish(
        state,
        "certificate",
        changes,
        (&place, has_old),
        |changes| {
            let only_form = changes.iter().all(|(key, _)| {
                let form = ["additional_certs", "encoding", "pkcs12_friendlyname"];
                key.as_str().is_some_and(|key| form.contains(&key))
            });
            match (current, &unsigned) {
                (Some(current), Some(unsigned)) if only_form => {
                    encoded(call, &current.certificate, unsigned.own_key(), wanted)
                }
                _ => made(call, wanted),
            }
        },
    )
}

fn secret(call: &Call<'_>) -> Option<String> {
    match call.arg("pkcs12_passphrase") {
        Value::Nil => None,
        _ => Some(call.text("pkcs12_passphrase")),
    }
}

fn encoded(
    call: &Call<'_>,
    certificate: &Certificate,
    key: Option<&PrivateKey>,
    wanted: &DesiredCertificate,
) -> Result<Encoded, CallError> {
    let (secret, name) = (secret(call), call.text_opt("pkcs12_friendlyname"));
    let company = Company {
        key,
        friendly_name: name.as_deref(),
        protection: Protection {
            passphrase: secret.as_deref(),
            compatible: call.flag("pkcs12_encryption_compat"),
        },
    };
    encode::certificate(certificate, &wanted.chain, wanted.encoding, company)
}

/// A new certificate, signed here or by another minion.
fn made(call: &Call<'_>, wanted: &DesiredCertificate) -> Result<Encoded, CallError> {
    let name = call.arg("signing_policy");
    if let Some(server) = &wanted.server {
        if name.is_nil() {
            return Err(CallError::invocation(
                "signing_policy must be specified to request a certificate from a remote ca_server",
            ));
        }
        let (certificate, key) = policy::sign_elsewhere(call, server, name, wanted.kwargs.clone())?;
        return encoded(call, &certificate, key.as_ref(), wanted);
    }
    let mut kwargs = wanted.kwargs.clone();
    policy::merge(policy::get(call, name, None)?, &mut kwargs);
    let (certificate, unsigned) = policy::sign(&kwargs)?;
    encoded(call, &certificate, unsigned.own_key(), wanted)
}

/// What of the certificate is not as it should be.
fn compare(
    call: &Call<'_>,
    current: &Loaded,
    wanted: &DesiredCertificate,
    changes: &mut Map,
) -> Result<Unsigned, CallError> {
    let friendly = call.text_opt("pkcs12_friendlyname").map(String::into_bytes);
    if current.encoding != wanted.encoding {
        changes.insert("encoding", wanted.encoding.name());
    } else if wanted.encoding == Encoding::Pkcs12 && current.friendly_name != friendly {
        let name = call.arg("pkcs12_friendlyname").clone();
        changes.insert("pkcs12_friendlyname", name);
    }
    let certificate = &current.certificate;
    let remaining = match call.arg("days_remaining") {
        Value::Nil => DAYS_REMAINING,
        value => python::int(value)?,
    };
    if certificate.not_after < time::later(time::now(), remaining) {
        changes.insert("expiration", true);
    }
    let ders = |chain: &[Certificate]| -> Vec<Vec<u8>> {
        chain
            .iter()
            .map(|certificate| certificate.der.clone())
            .collect()
    };
    let (mut have, mut want) = (ders(&current.chain), ders(&wanted.chain));
    if matches!(current.encoding, Encoding::Pkcs7Der | Encoding::Pkcs7Pem) {
        // A set has no order.
        have.sort();
        want.sort();
    }
    if have != want {
        changes.insert("additional_certs", true);
    }
    let mut kwargs = wanted.kwargs.clone();
    let policy = policy::get(call, call.arg("signing_policy"), wanted.server.as_deref())?;
    policy::merge(policy, &mut kwargs);
    let signer = match wanted.server {
        Some(_) => Signer::Elsewhere,
        None => Signer::Here,
    };
    let unsigned = Unsigned::new(&kwargs, signer)?;
    let digest = build::text_of(&kwargs, "digest").unwrap_or_else(|| "sha256".to_owned());
    compare_digest(&certificate.algorithm, &keys::digest(&digest)?, changes);
    if !call.arg("serial_number").is_nil() && !same_number(unsigned.serial(), &certificate.serial) {
        changes.insert("serial_number", call.arg("serial_number").clone());
    }
    if !unsigned.public_key.same(&certificate.key()?) {
        changes.insert("private_key", true);
    }
    if let Some(issuer) = &unsigned.signing_cert
        && !is_signed_by(Signed::Certificate, &certificate.der, &issuer.key()?)?
    {
        changes.insert("signing_private_key", true);
    }
    if unsigned.subject != certificate.subject {
        changes.insert("subject_name", unsigned.subject.written());
    }
    if unsigned.issuer != certificate.issuer {
        changes.insert("issuer_name", unsigned.issuer.written());
    }
    if let Some(differ) = extension::compare(&certificate.extensions, &unsigned.extensions) {
        changes.insert("extensions", differ);
    }
    Ok(unsigned)
}

/// The result that another has reached.
pub(super) fn reported(call: &Call<'_>) -> StateReturn {
    let mut state = StateReturn::of(call);
    state.result = match call.arg("result") {
        Value::Nil => None,
        value => Some(value.is_true()),
    };
    state.comment = call.arg("comment").clone();
    state.changes = call.arg("changes").as_map().cloned().unwrap_or_default();
    state
}

pub(super) fn managed_ssh(call: &Call<'_>) -> CallResult {
    let state = reported(call);
    if state.result == Some(false) {
        return Ok(state.into());
    }
    let (mut file, _) = Managed::new(call, call.kwargs().clone());
    let exists = Path::new(&call.text("name")).is_file();
    let Some(contents) = call.text_opt("contents") else {
        return Ok(file.write(state, None, exists)?.into());
    };
    if call.is_test() {
        let mut done = file.write(state, None, exists)?;
        let said = python::str(&done.comment);
        done.comment = format!("{said}{NOT_IN_TEST}").into();
        return Ok(done.into());
    }
    let encoded = match call.text("encoding").as_str() {
        "pem" | "pkcs7_pem" => Encoded::text(contents),
        _ => Encoded::binary(
            from_base64(&contents)
                .ok_or_else(|| CallError::invocation("the contents are not base64"))?,
        ),
    };
    Ok(file.write(state, Some(&encoded), exists)?.into())
}
