//! What certificates say, and where they are.

use std::path::PathBuf;

use halite_call::{Call, CallError, CallResult, os_error, python};
use halite_proto::{Map, Value};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::place::Authority;
use crate::certificate::Certificate;
use crate::extension;
use crate::name::Name;
use crate::text::pretty_hex;
use crate::{build, containers, keys};

/// What others call the parts of names.
const NAMES: &[(&str, &str)] = &[
    ("MAIL", "emailAddress"),
    ("STREET", "street"),
    ("SERIALNUMBER", "serialNumber"),
];

/// A certificate from a file, or from PEM itself.
pub(crate) fn load(cert: &str) -> Result<Certificate, CallError> {
    if !cert.contains("-----BEGIN")
        && let Err(error) = std::fs::metadata(cert)
    {
        return Err(os_error(&error, cert));
    }
    Certificate::load(&Value::from(cert))
}

pub(super) fn subject(name: &Name) -> Map {
    let attributes = name.attributes();
    attributes
        .iter()
        .map(|(key, value)| {
            let key = python::str(key);
            let other = NAMES.iter().find(|(short, _)| *short == key);
            let key = other.map_or(key.as_str(), |(_, other)| other);
            (key.to_owned(), value.clone())
        })
        .collect()
}

/// A number of any length in decimal digits, from its bytes.
fn decimal(bytes: &[u8]) -> String {
    // Least significant first.
    let mut digits = vec![0_u32];
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            let sum = *digit * 256 + carry;
            *digit = sum % 10;
            carry = sum / 10;
        }
        while carry > 0 {
            digits.push(carry % 10);
            carry /= 10;
        }
    }
    let chars = digits
        .iter()
        .rev()
        .filter_map(|digit| char::from_digit(*digit, 10));
    chars.collect()
}

/// A number where it fits into one, else its digits.
fn number(bytes: &[u8]) -> Value {
    let digits = decimal(bytes);
    match digits.parse::<i128>() {
        Ok(number) => Value::Int(number),
        Err(_) => digits.into(),
    }
}

pub(super) fn info(call: &Call<'_>) -> CallResult {
    let certificate = load(&call.text("cert"))?;
    let fingerprint = keys::digest_of(&call.text("digest"), &certificate.der)
        .map_err(|_| CallError::exception("ValueError", "No such digest method"))?;
    let mut said = Map::from([
        ("fingerprint", Value::from(pretty_hex(&fingerprint))),
        ("subject", subject(&certificate.subject).into()),
        ("issuer", subject(&certificate.issuer).into()),
        ("serial_number", number(&certificate.serial)),
        ("not_before", certificate.not_before.into()),
        ("not_after", certificate.not_after.into()),
    ]);
    if !certificate.extensions.is_empty() {
        let texts = containers::extension_texts(&certificate.der)?;
        let extensions = certificate.extensions.iter().zip(texts);
        let extensions: Map = extensions
            .map(|(extension, text)| (extension::short_name(&extension.oid), text))
            .collect();
        let names = extensions.get("subjectAltName").map(python::str);
        said.insert("extensions", extensions);
        if let Some(names) = names {
            let mut names: Vec<&str> = names
                .split(", ")
                .map(|name| name.split_once(':').map_or(name, |(_, name)| name))
                .collect();
            names.sort_unstable();
            names.dedup();
            let names: Vec<Value> = names.into_iter().map(Value::from).collect();
            said.insert("subject_alt_names", names);
        }
    }
    said.insert(
        "signature_algorithm",
        build::algorithm_name(&certificate.algorithm),
    );
    Ok(said.into())
}

pub(super) fn expiration_date(call: &Call<'_>) -> CallResult {
    let cert = call.text("cert");
    let certificate = load(&cert).map_err(|error| {
        tracing::error!(%error, "could not read a certificate");
        CallError::command(format!(
            "Failed to read cert from {cert}, see log for details"
        ))
    })?;
    let end = Timestamp::from_second(certificate.not_after)
        .map_err(|error| CallError::exception("ValueError", error.to_string()))?;
    let end = TimeZone::UTC.to_datetime(end);
    let written = jiff::fmt::strtime::format(call.text("date_format"), end);
    written
        .map(Value::from)
        .map_err(|error| CallError::exception("ValueError", error.to_string()))
}

/// A file, or what is in it.
fn file(call: &Call<'_>, path: PathBuf, missing: String) -> CallResult {
    if !path.exists() {
        return Err(CallError::exception("ValueError", missing));
    }
    if !call.flag("as_text") {
        return Ok(path.to_string_lossy().as_ref().into());
    }
    let text =
        halite_call::paths::read_to_string(&path).map_err(|error| os_error(&error, &path))?;
    Ok(text.into())
}

pub(super) fn authority(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    let missing = format!("Certificate does not exist for {}", authority.name);
    file(call, authority.certificate, missing)
}

fn signed(call: &Call<'_>, argument: &str, ending: &str) -> CallResult {
    let authority = Authority::from_call(call);
    let name = call.text("CN");
    let stem = call.text_given(argument).unwrap_or_else(|| name.clone());
    let path = authority.certificates().join(format!("{stem}.{ending}"));
    file(
        call,
        path,
        format!("Certificate does not exists for {name}"),
    )
}

pub(super) fn signed_certificate(call: &Call<'_>) -> CallResult {
    signed(call, "cert_filename", "crt")
}

pub(super) fn signed_key(call: &Call<'_>) -> CallResult {
    signed(call, "key_filename", "key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_have_decimal_digits() {
        assert_eq!(decimal(&[]), "0");
        assert_eq!(decimal(&[1, 0]), "256");
        assert_eq!(
            decimal(&[0xff; 20]),
            "1461501637330902918203684832716283019655932542975"
        );
        assert_eq!(number(&[0, 77]), Value::Int(77));
        assert_eq!(number(&[0xff; 20]).as_str().map(str::len), Some(49));
    }
}
