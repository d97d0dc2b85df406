//! Authorities: their key, and the certificate that signs itself.

use std::io;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, os_error, paths, python};
use halite_proto::{Map, Value};

use super::place::{Authority, ensure, write_key, write_public};
use super::{read, revoke};
use crate::build::{Signer, Unsigned};
use crate::keys::PrivateKey;
use crate::time;

/// The arguments that name somebody, as the builder of certificates calls them.
const SUBJECT: [(&str, &str); 7] = [
    ("C", "C"),
    ("ST", "ST"),
    ("L", "L"),
    ("O", "O"),
    ("OU", "OU"),
    ("CN", "CN"),
    ("emailAddress", "MAIL"),
];

/// Whom the arguments name.
pub(super) fn subject(call: &Call<'_>) -> Map {
    SUBJECT
        .iter()
        .filter_map(|(argument, part)| {
            let value = call.get(argument).filter(|value| value.is_true())?;
            Some((*part, python::str(value)))
        })
        .collect()
}

/// A digest that there is, as functions of this module refuse others.
pub(super) fn digest(call: &Call<'_>) -> Result<String, CallError> {
    let name = call.text("digest").to_lowercase();
    crate::keys::digest(&name)
        .map_err(|_| CallError::exception("ValueError", "No such digest method"))
}

pub(super) fn exists(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    if authority.exists() {
        mend(&authority)?;
    }
    Ok(authority.exists().into())
}

/// The arguments of a new authority.
struct NewAuthority {
    subject: Map,
    bits: u32,
    days: i64,
    digest: String,
}

pub(super) fn create(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    if call.flag("fixmode") && !authority.exists() {
        return Err(CallError::exception(
            "ValueError",
            format!(
                "{} does not exists, can't fix",
                authority.certificate.display()
            ),
        ));
    }
    if authority.exists() && !call.flag("replace") && !call.flag("fixmode") {
        return Ok(format!(
            "Certificate for CA named \"{}\" already exists",
            authority.name
        )
        .into());
    }
    let wanted = NewAuthority {
        subject: subject(call),
        bits: bits(call)?,
        days: call.int("days")?,
        digest: digest(call)?,
    };
    make(&authority, wanted)?;
    Ok(format!(
        "Created Private Key: \"{}\" Created CA \"{}\": \"{}\"",
        authority.key.display(),
        authority.name,
        authority.certificate.display()
    )
    .into())
}

pub(super) fn bits(call: &Call<'_>) -> Result<u32, CallError> {
    let bits = call.int("bits")?;
    u32::try_from(bits)
        .map_err(|_| CallError::exception("ValueError", format!("{bits} is no size of a key")))
}

/// The key that is there. One that cannot be read is no reason to write another
/// in its place.
fn kept_key(path: &Path) -> Result<Option<String>, CallError> {
    match paths::read_to_string(path) {
        Ok(pem) => Ok(Some(pem)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(os_error(&error, path)),
    }
}

fn make(authority: &Authority, wanted: NewAuthority) -> Result<(), CallError> {
    ensure(&authority.directory())?;
    let kept = kept_key(&authority.key)?;
    let pem = match &kept {
        // The key is used again; what the file was stays beside it.
        Some(old) => {
            let (key, _) = PrivateKey::load(&Value::from(old.as_str()), None)?;
            let stamp = time::compact(time::now());
            let aside = format!("{}.{stamp}", authority.key.display());
            write_key(Path::new(&aside), old)?;
            key.pem(None)?
        }
        None => PrivateKey::rsa(wanted.bits)?.pem(None)?,
    };
    let mut kwargs = wanted.subject;
    kwargs.extend(Map::from([
        ("signing_private_key", Value::from(pem.as_str())),
        ("days_valid", wanted.days.into()),
        ("basicConstraints", "critical, CA:TRUE, pathlen:0".into()),
        ("keyUsage", "critical, cRLSign, keyCertSign".into()),
        ("subjectKeyIdentifier", "hash".into()),
        ("authorityKeyIdentifier", "keyid:always".into()),
    ]));
    let certificate = Unsigned::new(&kwargs, Signer::Here)?.sign(&wanted.digest)?;
    write_key(&authority.key, &pem)?;
    write_public(&authority.certificate, certificate.pem().as_bytes())?;
    revoke::enter(&authority.directory(), &certificate)
}

pub(super) fn fix_version(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    if let Err(error) = std::fs::metadata(&authority.certificate) {
        return Err(os_error(&error, &authority.certificate));
    }
    mend(&authority)?;
    Ok(Value::Nil)
}

/// Very old Salt wrote a version that does not exist.
fn mend(authority: &Authority) -> Result<(), CallError> {
    const OF_OLD_SALT: i64 = 4;
    let path = authority.certificate.to_string_lossy();
    let old = read::load(&path)?;
    if old.version != OF_OLD_SALT {
        return Ok(());
    }
    let wanted = NewAuthority {
        subject: old.subject.attributes(),
        bits: old.key()?.bits(),
        days: (old.not_after - old.not_before) / 86400,
        digest: "sha256".to_owned(),
    };
    make(authority, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_read_is_not_one_that_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.key");
        assert!(kept_key(&path).unwrap().is_none());
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(kept_key(&path).is_err());
        std::fs::write(&path, "a key").unwrap();
        assert_eq!(kept_key(&path).unwrap().as_deref(), Some("a key"));
    }
}
