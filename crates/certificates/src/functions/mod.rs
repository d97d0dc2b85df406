//! The execution module `x509`.

mod create;
mod pem;
pub(crate) mod read;
mod verify;

pub(crate) use create::chain;
pub(crate) use pem::find as find_pem;

use std::path::Path;

use halite_call::{Call, CallError, Function, Module, python};
use halite_proto::{Map, Value};

use crate::certificate::{Certificate, Request};
use crate::encode::Encoded;
use crate::keys::{Encoding, KeyError, PrivateKey, PublicKey};

pub(crate) const MODULE: Module = Module {
    name: "x509",
    functions: &[
        Function::new(
            "x509.create_certificate",
            "(ca_server=None, signing_policy=None, encoding='pem', append_certs=None, pkcs12_passphrase=None, pkcs12_encryption_compat=False, pkcs12_friendlyname=None, path=None, overwrite=True, raw=False, **kwargs)",
            create::certificate,
            "Makes a certificate, signed here or by the minion ca_server under one of its signing policies.",
        ),
        Function::new(
            "x509.create_certificate_ssh",
            "(ca_server=None, signing_policy=None, encoding='pem', append_certs=None, pkcs12_passphrase=None, pkcs12_encryption_compat=False, pkcs12_friendlyname=None, path=None, overwrite=True, raw=False, **kwargs)",
            create::certificate,
            "The same as create_certificate.",
        ),
        Function::new(
            "x509.create_crl",
            "(signing_private_key, revoked, signing_cert=None, signing_private_key_passphrase=None, include_expired=False, days_valid=None, digest='sha256', encoding='pem', extensions=None, path=None, raw=False, **kwargs)",
            create::crl,
            "Makes a list of revoked certificates.",
        ),
        Function::new(
            "x509.create_csr",
            "(private_key, private_key_passphrase=None, digest='sha256', encoding='pem', path=None, raw=False, **kwargs)",
            create::csr,
            "Makes a request for a certificate.",
        ),
        Function::new(
            "x509.create_private_key",
            "(algo='rsa', keysize=None, passphrase=None, encoding='pem', pkcs12_encryption_compat=False, path=None, raw=False, **kwargs)",
            create::private_key,
            "Makes a private key.",
        ),
        Function::new(
            "x509.encode_certificate",
            "(certificate, encoding='pem', append_certs=None, private_key=None, private_key_passphrase=None, pkcs12_passphrase=None, pkcs12_encryption_compat=False, pkcs12_friendlyname=None, raw=False)",
            create::encode_certificate,
            "A certificate in another encoding: pem, der, pkcs7_pem, pkcs7_der, pkcs12.",
        ),
        Function::new(
            "x509.encode_crl",
            "(crl, encoding='pem', raw=False)",
            create::encode_crl,
            "A revocation list in another encoding: pem, der.",
        ),
        Function::new(
            "x509.encode_csr",
            "(csr, encoding='pem', raw=False)",
            create::encode_csr,
            "A request in another encoding: pem, der.",
        ),
        Function::new(
            "x509.encode_private_key",
            "(private_key, encoding='pem', passphrase=None, private_key_passphrase=None, pkcs12_encryption_compat=False, raw=False)",
            create::encode_private_key,
            "A private key in another encoding (pem, der, pkcs12) or with another passphrase.",
        ),
        Function::new(
            "x509.expired",
            "(certificate)",
            verify::expired,
            "Whether a certificate has ended.",
        ),
        Function::new(
            "x509.expires",
            "(certificate, days=0)",
            verify::expires,
            "Whether a certificate ends within some days.",
        ),
        Function::new(
            "x509.get_pem_entries",
            "(glob_path)",
            pem::entries,
            "The first entries of PEM files.",
        ),
        Function::new(
            "x509.get_pem_entry",
            "(text, pem_type=None)",
            pem::entry,
            "The first entry of PEM in a text or file, written anew.",
        ),
        Function::new(
            "x509.get_private_key_size",
            "(private_key, passphrase=None)",
            read::private_key_size,
            "The size of a private key in bits.",
        ),
        Function::new(
            "x509.get_public_key",
            "(key, passphrase=None, asObj=None)",
            read::public_key,
            "The public key of a certificate, a request or a private key.",
        ),
        Function::new(
            "x509.get_signing_policy",
            "(signing_policy, ca_server=None)",
            read::signing_policy,
            "A signing policy of this minion or of another.",
        ),
        Function::new(
            "x509.read_certificate",
            "(certificate)",
            read::certificate,
            "What a certificate says.",
        ),
        Function::new(
            "x509.read_certificates",
            "(glob_path)",
            read::certificates,
            "What the certificates in files say.",
        ),
        Function::new(
            "x509.read_crl",
            "(crl)",
            read::crl,
            "What a revocation list says.",
        ),
        Function::new("x509.read_csr", "(csr)", read::csr, "What a request says."),
        Function::new(
            "x509.sign_remote_certificate",
            "(signing_policy, kwargs, get_signing_policy_only=False, **more_kwargs)",
            create::sign_remote,
            "Signs a certificate for another minion, under a signing policy.",
        ),
        Function::new(
            "x509.verify_crl",
            "(crl, cert)",
            verify::crl,
            "Whether a revocation list was signed with the key of a certificate.",
        ),
        Function::new(
            "x509.verify_private_key",
            "(private_key, public_key, passphrase=None)",
            verify::private_key,
            "Whether a private key belongs to a public one.",
        ),
        Function::new(
            "x509.verify_signature",
            "(certificate, signing_pub_key=None, signing_pub_key_passphrase=None)",
            verify::signature,
            "Whether a certificate was signed with a key, its own if none is given.",
        ),
        Function::new(
            "x509.will_expire",
            "(certificate, days)",
            verify::will_expire,
            "Whether a certificate ends within some days, with its name.",
        ),
        Function::new(
            "x509.write_pem",
            "(text, path, overwrite=True, pem_type=None)",
            pem::write,
            "Writes an entry of PEM to a file that only its owner can read.",
        ),
    ],
};

/// The argument `encoding`, one of those that `valid` lists.
fn encoding(call: &Call<'_>, valid: &str) -> Result<Encoding, CallError> {
    let name = call.text("encoding");
    Encoding::parse(&name)
        .filter(|_| valid.split(", ").any(|known| known == name))
        .ok_or_else(|| {
            CallError::command(format!(
                "Invalid value '{name}' for encoding. Valid: {valid}"
            ))
        })
}

/// A passphrase: text that may be empty, or none.
fn passphrase(call: &Call<'_>, name: &str) -> Option<String> {
    match call.arg(name) {
        Value::Nil => None,
        _ => Some(call.text(name)),
    }
}

/// The arguments without a place, of which only `known` are fine.
fn refuse_unknown(call: &Call<'_>, ignored: &[&str]) -> Result<Map, CallError> {
    let mut kwargs = call.clean_kwargs();
    kwargs.retain(|key, _| {
        !key.as_str()
            .is_some_and(|key| ignored.contains(&key) || key.starts_with('_'))
    });
    Ok(kwargs)
}

fn unrecognized(kwargs: &Map) -> Result<(), CallError> {
    if kwargs.is_empty() {
        return Ok(());
    }
    let names = kwargs.iter().map(|(key, _)| key.clone()).collect();
    Err(CallError::invocation(format!(
        "Unrecognized keyword arguments: {}",
        python::repr(&Value::List(names))
    )))
}

/// As a function returns it.
fn returned(encoded: Encoded, raw: bool) -> Value {
    if raw {
        Value::Bytes(encoded.bytes)
    } else {
        encoded.shown().into()
    }
}

/// Writes what was made to the argument `path`, or returns it.
fn delivered(call: &Call<'_>, encoded: Encoded, what: &str) -> Result<Value, CallError> {
    let Some(path) = call.text_opt("path") else {
        return Ok(returned(encoded, call.flag("raw")));
    };
    crate::files::write_bytes(Path::new(&path), &encoded.bytes)?;
    Ok(if encoded.is_text {
        format!("PEM written to {path}").into()
    } else if what.is_empty() {
        Value::Nil
    } else {
        format!("{what} written to {path}").into()
    })
}

/// The public key of whatever `value` is.
pub(crate) fn any_public_key(
    value: &Value,
    passphrase: Option<&str>,
) -> Result<PublicKey, CallError> {
    if let Ok(key) = PublicKey::load(value) {
        return Ok(key);
    }
    if let Ok(loaded) = Certificate::load_all(value, passphrase) {
        return loaded.certificate.key();
    }
    match PrivateKey::load(value, passphrase) {
        Ok((key, _)) => return key.public(),
        Err(KeyError::Unreadable(_)) => {}
        Err(error) => return Err(CallError::command(CallError::from(error).to_string())),
    }
    if let Ok((request, _)) = Request::load(value) {
        return PublicKey::from_der(&request.public_key);
    }
    Err(CallError::command(
        "Could not load key as certificate, public key, private key or CSR",
    ))
}
