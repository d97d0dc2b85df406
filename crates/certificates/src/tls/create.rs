//! Requests, and certificates: those that an authority signs and those that
//! sign themselves.

use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::authority::{bits, digest, subject};
use super::place::{Authority, base, ensure, write_key, write_public};
use super::revoke;
use crate::build::{Signer, Unsigned, UnsignedRequest};
use crate::certificate::Request;
use crate::extension::{self, Parties};
use crate::keys::PrivateKey;
use crate::name::Name;
use crate::text;

/// A request asks for these, in this order.
const USUAL: &[(&str, &[(&str, &str)])] = &[
    ("common", &[("basicConstraints", "CA:FALSE")]),
    (
        "server",
        &[
            ("extendedKeyUsage", "serverAuth"),
            ("keyUsage", "digitalSignature, keyEncipherment"),
        ],
    ),
    (
        "client",
        &[
            ("extendedKeyUsage", "clientAuth"),
            (
                "keyUsage",
                "nonRepudiation, digitalSignature, keyEncipherment",
            ),
        ],
    ),
];

/// The extensions of one kind, from the pillar or the usual ones.
fn of_kind(call: &Call<'_>, kind: &str) -> Result<Option<(Map, Map)>, CallError> {
    let path = Value::from(format!("tls.extensions:{kind}"));
    let said = call.salt("pillar.get", &[path, Value::Bool(false)], Map::new())?;
    if let Value::Map(said) = said {
        let part = |name: &str| said.get(name).and_then(Value::as_map).cloned();
        return Ok(Some((
            part("csr").unwrap_or_default(),
            part("cert").unwrap_or_default(),
        )));
    }
    let Some((_, usual)) = USUAL.iter().find(|(known, _)| *known == kind) else {
        return Ok(None);
    };
    let certificate = if kind == "common" {
        Map::from([
            ("authorityKeyIdentifier", Value::from("keyid,issuer:always")),
            ("subjectKeyIdentifier", "hash".into()),
        ])
    } else {
        Map::new()
    };
    Ok(Some((usual.iter().copied().collect(), certificate)))
}

/// Those of requests, and those of certificates.
fn chosen(call: &Call<'_>, kind: &str) -> Result<(Map, Map), CallError> {
    let mut both = (Map::new(), Map::new());
    for kind in ["common", kind] {
        let (request, certificate) = of_kind(call, kind)?.ok_or_else(|| {
            CallError::invocation(format!("there is no cert_type '{kind}': server or client"))
        })?;
        both.0.extend(request);
        both.1.extend(certificate);
    }
    Ok(both)
}

pub(super) fn extensions(call: &Call<'_>) -> CallResult {
    let (request, certificate) = chosen(call, &call.text("cert_type"))?;
    Ok(Map::from([("csr", request), ("cert", certificate)]).into())
}

/// A directory of the arguments, or the one of the authority; as Salt writes
/// it, with a slash at its end.
fn directory(call: &Call<'_>, argument: &str, authority: &Authority) -> String {
    let given = call.get(argument).filter(|path| path.is_true());
    given.map_or_else(
        || format!("{}/", authority.certificates().display()),
        python::str,
    )
}

/// The name of the files for somebody: `www.example.com`, or with the type of
/// the certificate behind it.
fn stem(call: &Call<'_>, argument: &str) -> String {
    let name = call.text("CN");
    if let Some(file) = call.get(argument).filter(|file| file.is_true()) {
        return python::str(file);
    }
    if call.flag("type_ext") {
        return format!("{name}_{}", call.text("cert_type"));
    }
    name
}

pub(super) fn request(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    let (name, digest) = (call.text("CN"), digest(call)?);
    if !authority.exists() {
        let name = &authority.name;
        return Ok(format!(
            "Certificate for CA named \"{name}\" does not exist, please create it first."
        )
        .into());
    }
    let directory = directory(call, "csr_path", &authority);
    let stem = stem(call, "csr_filename");
    let path = Path::new(&directory).join(format!("{stem}.csr"));
    if path.exists() && !call.flag("replace") {
        return Ok(format!("Certificate Request \"{directory}/{stem}.csr\" already exists").into());
    }
    let key = PrivateKey::rsa(bits(call)?)?;
    let (mut wanted, _) = chosen(call, &call.text("cert_type"))?;
    match call.arg("subjectAltName") {
        value if !value.is_true() => {}
        Value::Str(one) => {
            wanted.insert("subjectAltName", vec![Value::from(one.as_str())]);
        }
        value => {
            wanted.insert("subjectAltName", value.clone());
        }
    }
    let public = key.public()?;
    let parties = Parties {
        subject: Some(&public.der),
        ..Parties::default()
    };
    let extensions = wanted
        .iter()
        .map(|(name, value)| extension::build(&python::str(name), value, parties))
        .collect::<Result<_, _>>()?;
    let pem = key.pem(None)?;
    let unsigned = UnsignedRequest {
        key,
        subject: Name::from_map(&subject(call))?,
        extensions,
    };
    let der = unsigned.sign(&digest)?;
    ensure(Path::new(&directory))?;
    let key_path = path.with_file_name(format!("{stem}.key"));
    write_key(&key_path, &pem)?;
    write_public(&path, text::to_pem("CERTIFICATE REQUEST", &der).as_bytes())?;
    Ok(format!(
        "Created Private Key: \"{}\" Created CSR for \"{name}\": \"{}\"",
        key_path.display(),
        path.display()
    )
    .into())
}

pub(super) fn signed(call: &Call<'_>) -> CallResult {
    let authority = Authority::from_call(call);
    let (name, digest) = (call.text("CN"), digest(call)?);
    let not_done = |comment: String| -> CallResult {
        Ok(Map::from([("retcode", Value::from(1)), ("comment", comment.into())]).into())
    };
    let named = call.flag("cert_filename");
    if !named && call.flag("type_ext") && !call.flag("cert_type") {
        tracing::error!("type_ext = True but cert_type is unset. Certificate not written.");
        return Ok(Map::new().into());
    }
    let directory = PathBuf::from(directory(call, "cert_path", &authority));
    let stem = stem(call, "cert_filename");
    let path = directory.join(format!("{stem}.crt"));
    if path.exists() && !call.flag("replace") {
        return Ok(format!("Certificate \"{stem}\" already exists").into());
    }
    if !authority.exists() || !authority.key.exists() {
        return not_done(authority.missing());
    }
    // The request is named after whom it is for, whatever the certificate is.
    let asked = if call.flag("type_ext") && call.flag("cert_type") {
        format!("{name}_{}", call.text("cert_type"))
    } else {
        name.clone()
    };
    let request = directory.join(format!("{asked}.csr"));
    if !request.exists() {
        return not_done(format!("There is no CSR that matches the CN \"{asked}\""));
    }
    let path_of = |path: &Path| Value::from(path.to_string_lossy().as_ref());
    let (request, _) = Request::load(&path_of(&request))?;
    let kwargs = Map::from([
        ("signing_private_key", path_of(&authority.key)),
        ("signing_cert", path_of(&authority.certificate)),
        ("csr", Value::Bytes(request.der.clone())),
        ("CN", name.as_str().into()),
        ("days_valid", call.int("days")?.into()),
    ]);
    let mut unsigned = Unsigned::new(&kwargs, Signer::Here)?;
    unsigned.subject = request.subject;
    unsigned.extensions = request.extensions;
    let certificate = unsigned.sign(&digest)?;
    ensure(&directory)?;
    write_public(&path, certificate.pem().as_bytes())?;
    revoke::enter(&authority.directory(), &certificate)?;
    Ok(format!("Created Certificate for \"{name}\": \"{}\"", path.display()).into())
}

pub(super) fn self_signed(call: &Call<'_>) -> CallResult {
    let (name, digest) = (call.text("CN"), digest(call)?);
    let directory = Path::new(&base(call)).join(call.text("tls_dir"));
    let stem = call.text_given("cert_filename").unwrap_or(name);
    let path = directory.join("certs").join(format!("{stem}.crt"));
    if path.exists() && !call.flag("replace") {
        return Ok(format!("Certificate \"{stem}\" already exists").into());
    }
    let pem = PrivateKey::rsa(bits(call)?)?.pem(None)?;
    let mut kwargs = subject(call);
    kwargs.insert("signing_private_key", pem.as_str());
    kwargs.insert("days_valid", call.int("days")?);
    let certificate = Unsigned::new(&kwargs, Signer::Here)?.sign(&digest)?;
    ensure(&directory.join("certs"))?;
    let key_path = path.with_file_name(format!("{stem}.key"));
    write_key(&key_path, &pem)?;
    write_public(&path, certificate.pem().as_bytes())?;
    revoke::enter(&directory, &certificate)?;
    Ok(format!(
        "Created Private Key: \"{}\" Created Certificate: \"{}\"",
        key_path.display(),
        path.display()
    )
    .into())
}
