//! Functions that make and encode.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::{delivered, encoding, passphrase, refuse_unknown, returned, unrecognized};
use crate::build::{self, UnsignedList, UnsignedRequest};
use crate::certificate::{Certificate, List, Request};
use crate::containers::Protection;
use crate::encode::{self, Company, Encoded};
use crate::keys::{self, Encoding, PrivateKey};
use crate::policy;

const ALL: &str = "der, pem, pkcs7_der, pkcs7_pem, pkcs12";
const TWO: &str = "der, pem";
const KEYS: &str = "der, pem, pkcs12";

/// What functions before had, and nothing does.
const OLD: [&str; 5] = ["text", "version", "serial_bits", "cipher", "verbose"];

/// The certificates of an argument that is one, a list, or none.
pub(crate) fn chain(value: &Value) -> Result<Vec<Certificate>, CallError> {
    match value {
        Value::List(items) => items.iter().map(Certificate::load).collect(),
        value if value.is_true() => Ok(vec![Certificate::load(value)?]),
        _ => Ok(Vec::new()),
    }
}

/// The arguments of a certificate in their present names.
fn arguments(call: &Call<'_>) -> Map {
    let mut kwargs = call.clean_kwargs();
    kwargs.retain(|key, _| !key.as_str().is_some_and(|key| OLD.contains(&key)));
    if let Some(name) = kwargs.remove("algorithm") {
        kwargs.insert("digest", name);
    }
    build::short_names(&mut kwargs);
    kwargs
}

pub(super) fn certificate(call: &Call<'_>) -> CallResult {
    let mut kwargs = arguments(call);
    if !kwargs.contains_key("days_valid") && !kwargs.contains_key("not_after") {
        kwargs.insert("days_valid", 365);
    }
    let encoding = encoding(call, ALL)?;
    if let Some(name) = build::text_of(&kwargs, "digest") {
        keys::digest(&name)?;
    }
    if encoding == Encoding::Der && call.flag("append_certs") {
        return Err(CallError::invocation(
            "Cannot encode a certificate chain in DER",
        ));
    }
    let server = call.text_opt("ca_server");
    let signs_here = kwargs.contains_key("signing_private_key") || call.flag("signing_policy");
    if server.is_none() && !signs_here {
        return Err(CallError::invocation(
            "Creating a certificate locally at least requires a signing private key.",
        ));
    }
    if let Some(path) = call.text_opt("path")
        && !call.flag("overwrite")
        && Path::new(&path).is_file()
    {
        return Ok(format!("The file at {path} exists and overwrite was set to false").into());
    }
    let policy = call.arg("signing_policy");
    let (made, unsigned, far_key);
    match server {
        Some(server) => {
            if policy.is_nil() {
                return Err(CallError::invocation(
                    "signing_policy must be specified to request a certificate from a remote ca_server",
                ));
            }
            (made, far_key) = policy::sign_elsewhere(call, &server, policy, kwargs)?;
            unsigned = None;
        }
        None => {
            let mut own = policy::own(call, policy)?;
            build::short_names(&mut own);
            policy::merge(own, &mut kwargs);
            let given = |name| build::given(&kwargs, name).is_some();
            if encoding == Encoding::Pkcs12 && !given("private_key") && given("signing_cert") {
                return Err(CallError::invocation(
                    "Creating a PKCS12-encoded certificate without embedded private key is unsupported",
                ));
            }
            let (certificate, signed) = policy::sign(&kwargs)?;
            (made, unsigned, far_key) = (certificate, Some(signed), None);
        }
    }
    let own_key = unsigned.as_ref().and_then(|unsigned| unsigned.own_key());
    let (secret, name) = (
        passphrase(call, "pkcs12_passphrase"),
        call.text_opt("pkcs12_friendlyname"),
    );
    let company = Company {
        key: far_key.as_ref().or(own_key),
        friendly_name: name.as_deref(),
        protection: Protection {
            passphrase: secret.as_deref(),
            compatible: call.flag("pkcs12_encryption_compat"),
        },
    };
    let chain = chain(call.arg("append_certs"))?;
    let encoded = encode::certificate(&made, &chain, encoding, company)?;
    delivered(call, encoded, "Certificate")
}

pub(super) fn encode_certificate(call: &Call<'_>) -> CallResult {
    let encoding = encoding(call, ALL)?;
    if encoding == Encoding::Der && call.flag("append_certs") {
        return Err(CallError::invocation(
            "Cannot encode a certificate chain in DER",
        ));
    }
    let has_key = call.flag("private_key");
    if encoding != Encoding::Pkcs12 && has_key {
        return Err(CallError::invocation(
            "Embedding private keys is only supported for pkcs12 encoding",
        ));
    }
    let mut key = None;
    if has_key {
        let secret = passphrase(call, "private_key_passphrase");
        key = Some(PrivateKey::load(call.arg("private_key"), secret.as_deref())?.0);
    }
    let certificate = Certificate::load(call.arg("certificate"))?;
    let (secret, name) = (
        passphrase(call, "pkcs12_passphrase"),
        call.text_opt("pkcs12_friendlyname"),
    );
    let company = Company {
        key: key.as_ref(),
        friendly_name: name.as_deref(),
        protection: Protection {
            passphrase: secret.as_deref(),
            compatible: call.flag("pkcs12_encryption_compat"),
        },
    };
    let chain = chain(call.arg("append_certs"))?;
    let encoded = encode::certificate(&certificate, &chain, encoding, company)?;
    Ok(returned(encoded, call.flag("raw")))
}

pub(super) fn crl(call: &Call<'_>) -> CallResult {
    unrecognized(&refuse_unknown(call, &["text"])?)?;
    let encoding = encoding(call, TWO)?;
    let digest = keys::digest(&call.text("digest"))?;
    let names = [
        "signing_private_key",
        "revoked",
        "signing_cert",
        "signing_private_key_passphrase",
        "include_expired",
        "days_valid",
        "extensions",
    ];
    let kwargs = names.map(|name| (name, call.arg(name).clone()));
    let list = UnsignedList::new(&kwargs.into_iter().collect())?;
    let encoded = encode::other(&list.sign(&digest)?, "X509 CRL", encoding);
    delivered(call, encoded, "CRL")
}

pub(super) fn encode_crl(call: &Call<'_>) -> CallResult {
    let encoding = encoding(call, TWO)?;
    let (list, _) = List::load(call.arg("crl"))?;
    let encoded = encode::other(&list.der, "X509 CRL", encoding);
    Ok(returned(encoded, call.flag("raw")))
}

pub(super) fn csr(call: &Call<'_>) -> CallResult {
    let mut kwargs = arguments(call);
    let digest = match kwargs.remove("digest") {
        Some(name) => python::str(&name),
        None => call.text("digest"),
    };
    let encoding = encoding(call, TWO)?;
    let digest = keys::digest(&digest)?;
    let secret = passphrase(call, "private_key_passphrase");
    let request = UnsignedRequest::new(call.arg("private_key"), secret.as_deref(), &kwargs)?;
    let encoded = encode::other(&request.sign(&digest)?, "CERTIFICATE REQUEST", encoding);
    delivered(call, encoded, "CSR")
}

pub(super) fn encode_csr(call: &Call<'_>) -> CallResult {
    let encoding = encoding(call, TWO)?;
    let (request, _) = Request::load(call.arg("csr"))?;
    let encoded = encode::other(&request.der, "CERTIFICATE REQUEST", encoding);
    Ok(returned(encoded, call.flag("raw")))
}

pub(super) fn private_key(call: &Call<'_>) -> CallResult {
    let mut kwargs = refuse_unknown(call, &OLD)?;
    let size = match kwargs.remove("bits") {
        Some(bits) => bits,
        None => call.arg("keysize").clone(),
    };
    unrecognized(&kwargs)?;
    let encoding = encoding(call, KEYS)?;
    let size = match size {
        size if size.is_true() => Some(python::int(&size)?),
        _ => None,
    };
    let key = PrivateKey::generate(&call.text("algo"), size)?;
    let encoded = protected(call, &key, encoding)?;
    delivered(call, encoded, "")
}

fn protected(call: &Call<'_>, key: &PrivateKey, encoding: Encoding) -> Result<Encoded, CallError> {
    let secret = passphrase(call, "passphrase");
    let protection = Protection {
        passphrase: secret.as_deref(),
        compatible: call.flag("pkcs12_encryption_compat"),
    };
    encode::private_key(key, encoding, protection)
}

pub(super) fn encode_private_key(call: &Call<'_>) -> CallResult {
    let encoding = encoding(call, KEYS)?;
    let secret = passphrase(call, "private_key_passphrase");
    let (key, _) = PrivateKey::load(call.arg("private_key"), secret.as_deref())?;
    Ok(returned(protected(call, &key, encoding)?, call.flag("raw")))
}

pub(super) fn sign_remote(call: &Call<'_>) -> CallResult {
    let kwargs = call.arg("kwargs").as_map().cloned().unwrap_or_default();
    let asker = call.kwargs().get("__pub_id").map(python::str);
    let only_policy = call.flag("get_signing_policy_only");
    Ok(policy::answer(
        call,
        call.arg("signing_policy"),
        kwargs,
        only_policy,
        asker,
    ))
}
