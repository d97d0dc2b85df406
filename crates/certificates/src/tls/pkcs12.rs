//! A certificate for browsers, with its key and its authority.

use halite_call::{Call, CallResult, python};
use halite_proto::Value;

use super::place::Authority;
use super::read;
use crate::containers::{Protection, make_pkcs12};
use crate::files::write_bytes;
use crate::keys::PrivateKey;

pub(super) fn create(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    let name = call.text("CN");
    let file = |ending: &str| authority.certificates().join(format!("{name}.{ending}"));
    let path = file("p12");
    if path.exists() && !call.flag("replace") {
        return Ok(format!("Certificate \"{name}\" already exists").into());
    }
    if !authority.exists() {
        return Ok(authority.missing().into());
    }
    if !file("crt").exists() {
        return Ok(format!("There is no certificate that matches the CN \"{name}\"").into());
    }
    let certificate = read::load(&file("crt").to_string_lossy())?;
    let issuer = read::load(&authority.certificate.to_string_lossy())?;
    let key = Value::from(file("key").to_string_lossy().as_ref());
    let (key, _) = PrivateKey::load(&key, None)?;
    let passphrase = python::str(call.arg("passphrase"));
    let protection = Protection {
        passphrase: Some(&passphrase),
        compatible: false,
    };
    let packed = make_pkcs12(
        &key,
        &[certificate.der, issuer.der],
        Some(&name),
        protection,
    )?;
    write_bytes(&path, &packed)?;
    Ok(format!(
        "Created PKCS#12 Certificate for \"{name}\": \"{}\"",
        path.display()
    )
    .into())
}
