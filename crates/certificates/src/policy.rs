//! Signing policies: what a minion signs for other minions.
//!
//! Invariant: the policy wins over the request, and nothing in a remote request
//! names a file of the minion that signs.

use std::path::PathBuf;

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use crate::build::{self, Signer, Unsigned};
use crate::certificate::{Certificate, Request};
use crate::keys::{self, PublicKey};
use crate::name;
use crate::text;

/// What only the minion that signs says.
const OWN: [&str; 6] = [
    "signing_private_key",
    "signing_private_key_passphrase",
    "signing_cert",
    "copypath",
    "prepend_cn",
    "private_key",
];

/// Longest time another minion may take to sign.
const REMOTE_SECONDS: i64 = 60;

/// The policy `name` of this minion; empty if it does not exist.
pub(crate) fn own(call: &Call<'_>, name: &Value) -> Result<Map, CallError> {
    if name.is_nil() {
        return Ok(Map::new());
    }
    let name = python::str(name);
    let pillar = call.ctx.pillar();
    let of = |policies: &Value| policies.get(&name).cloned().filter(Value::is_true);
    let found = match pillar.get("x509_signing_policies").and_then(of) {
        Some(found) => Some(found),
        None => {
            let key = Value::from("x509_signing_policies");
            let all = call.salt("config.get", &[key, Map::new().into()], Map::new())?;
            of(&all)
        }
    };
    Ok(match found {
        Some(Value::Map(map)) => map,
        Some(Value::List(parts)) => {
            let mut merged = Map::new();
            for part in parts.iter().filter_map(Value::as_map) {
                merged.extend(part.clone());
            }
            merged
        }
        _ => Map::new(),
    })
}

/// The policy `name` of this minion or of another, with short names.
pub(crate) fn get(call: &Call<'_>, name: &Value, server: Option<&str>) -> Result<Map, CallError> {
    let mut policy = match server {
        None => own(call, name)?,
        Some(server) => {
            let answer = ask(call, server, name, Map::new(), true)?;
            let mut policy = answer.as_map().cloned().unwrap_or_default();
            if let Some(value) = policy.get("signing_cert") {
                let certificate = Certificate::load(value)?;
                policy.insert("signing_cert", certificate.pem());
            }
            policy
        }
    };
    build::short_names(&mut policy);
    Ok(policy)
}

/// Lays a policy over arguments.
pub(crate) fn merge(mut policy: Map, kwargs: &mut Map) {
    if policy.is_empty() {
        return;
    }
    build::short_names(kwargs);
    if kwargs.contains_key("subject") {
        let names = policy
            .iter()
            .any(|(key, _)| key.as_str().is_some_and(name::is_attribute));
        if names {
            kwargs.remove("subject");
        } else {
            match (kwargs.get_mut("subject"), policy.get("subject")) {
                (Some(Value::Map(asked)), Some(Value::Map(said))) => {
                    asked.extend(said.clone());
                    policy.remove("subject");
                }
                (Some(Value::List(asked)), Some(Value::List(said))) => {
                    let mut all = said.clone();
                    all.append(asked);
                    *asked = all;
                    policy.remove("subject");
                }
                _ => {}
            }
        }
    }
    kwargs.extend(policy);
}

/// Asks another minion, through the master.
pub(crate) fn ask(
    call: &Call<'_>,
    server: &str,
    policy: &Value,
    kwargs: Map,
    only_policy: bool,
) -> Result<Value, CallError> {
    let arguments = vec![policy.clone(), kwargs.into(), only_policy.into()];
    let answers = call.salt(
        "publish.publish",
        &[server.into(), "x509.sign_remote_certificate".into()],
        Map::from([
            ("arg", Value::List(arguments)),
            ("timeout", REMOTE_SECONDS.into()),
        ]),
    )?;
    let answer = answers.as_map().and_then(|map| map.iter().next());
    let Some((_, answer)) = answer else {
        return Err(CallError::invocation(
            "ca_server did not respond. Salt master must permit peers to call the sign_remote_certificate function.",
        ));
    };
    let Some(data) = answer.get("data") else {
        return Err(CallError::command(
            "Received invalid return value from ca_server. See minion log for details",
        ));
    };
    let errors = answer.get("errors").map(python::texts).unwrap_or_default();
    if !errors.is_empty() {
        return Err(CallError::command(format!(
            "ca_server reported errors:\n{}",
            errors.join("\n")
        )));
    }
    Ok(data.clone())
}

/// The answer to another minion.
pub(crate) fn answer(
    call: &Call<'_>,
    policy: &Value,
    kwargs: Map,
    only_policy: bool,
    asker: Option<String>,
) -> Value {
    let refused = |error: String| {
        Map::from([
            ("data", Value::Nil),
            ("errors", Value::List(vec![error.into()])),
        ])
        .into()
    };
    match grant(call, policy, kwargs, only_policy, asker) {
        Ok(data) => Map::from([("data", data), ("errors", Value::List(Vec::new()))]).into(),
        Err(error) => {
            tracing::warn!(%error, "a certificate was not signed for another minion");
            refused(error.to_string())
        }
    }
}

fn grant(
    call: &Call<'_>,
    policy: &Value,
    mut kwargs: Map,
    only_policy: bool,
    asker: Option<String>,
) -> Result<Value, CallError> {
    let mut policy = own(call, policy)?;
    if policy.is_empty() {
        return Err(CallError::command(
            "signing_policy must be specified and defined on signing minion",
        ));
    }
    if let Some(minions) = policy.remove("minions") {
        let asker = asker.ok_or_else(|| {
            CallError::command("minion sending this request could not be identified")
        })?;
        if !is_meant(call, &python::str(&minions), &asker)? {
            return Err(CallError::command(
                "minion not permitted to use specified signing policy",
            ));
        }
    }
    if only_policy {
        policy.remove("signing_private_key");
        policy.remove("signing_private_key_passphrase");
        if let Some(value) = policy.get("signing_cert") {
            let certificate = Certificate::load(value)?;
            policy.insert("signing_cert", certificate.pem());
        }
        return Ok(policy.into());
    }
    for name in OWN {
        kwargs.remove(name);
    }
    for name in ["public_key", "csr"] {
        if let Some(value) = kwargs.get(name)
            && text::file_of(value).is_some()
        {
            return Err(CallError::command(format!(
                "{name} must be sent, it may not name a file here"
            )));
        }
    }
    kwargs.remove("ca_server");
    build::short_names(&mut policy);
    merge(policy, &mut kwargs);
    let (certificate, _) = sign(&kwargs)?;
    Ok(certificate.pem().into())
}

/// Whether the minions of a policy have `asker` among them.
fn is_meant(call: &Call<'_>, minions: &str, asker: &str) -> Result<bool, CallError> {
    if !minions.contains('@') {
        return Ok(halite_target::glob::fnmatch(minions, asker));
    }
    let arguments = vec![Value::from(minions), asker.into()];
    let found = call.salt(
        "publish.runner",
        &["match.compound_matches".into()],
        Map::from([("arg", Value::List(arguments))]),
    )?;
    if found.is_nil() {
        return Err(CallError::command(
            "Could not check minion match for compound expression. Is this minion allowed to run `match.compound_matches` on the master?",
        ));
    }
    let matched = found
        .get("res")
        .ok_or_else(|| CallError::command("Invalid return value of match.compound_matches."))?;
    Ok(matched.as_str() == Some(asker))
}

/// Signs here, and keeps a copy if that is asked for.
pub(crate) fn sign(kwargs: &Map) -> Result<(Certificate, Unsigned), CallError> {
    let digest = match build::text_of(kwargs, "digest") {
        Some(name) => keys::digest(&name)?,
        None => "sha256".to_owned(),
    };
    let unsigned = Unsigned::new(kwargs, Signer::Here)?;
    let certificate = unsigned.sign(&digest)?;
    if let Some(place) = build::given(kwargs, "copypath") {
        let mut name = String::new();
        if build::given(kwargs, "prepend_cn").is_some()
            && let Some(common) = certificate.subject.common_name()
        {
            // A name is no path.
            name = format!("{}-", common.replace('/', "_"));
        }
        let digits: String = certificate
            .serial
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        name += digits.trim_start_matches('0');
        let place = PathBuf::from(python::str(place));
        crate::files::write(&place.join(format!("{name}.crt")), &certificate.pem())?;
    }
    Ok((certificate, unsigned))
}

/// Has another minion sign.
pub(crate) fn sign_elsewhere(
    call: &Call<'_>,
    server: &str,
    policy: &Value,
    mut kwargs: Map,
) -> Result<(Certificate, Option<keys::PrivateKey>), CallError> {
    let passphrase = build::text_of(&kwargs, "private_key_passphrase");
    kwargs.remove("private_key_passphrase");
    let mut key = None;
    if let Some(value) = kwargs.remove("private_key").filter(Value::is_true) {
        let (own, _) = keys::PrivateKey::load(&value, passphrase.as_deref())?;
        kwargs.insert("public_key", own.public()?.pem());
        key = Some(own);
    } else if let Some(value) = build::given(&kwargs, "public_key") {
        let pem = PublicKey::load(value)?.pem();
        kwargs.insert("public_key", pem);
    }
    if let Some(value) = build::given(&kwargs, "csr") {
        let (request, _) = Request::load(value)?;
        let pem = text::to_pem("CERTIFICATE REQUEST", &request.der);
        kwargs.insert("csr", pem);
    }
    for name in ["signing_private_key", "signing_private_key_passphrase"] {
        kwargs.remove(name);
    }
    let answer = ask(call, server, policy, kwargs, false)?;
    let certificate = Certificate::load(&answer).map_err(|_| {
        CallError::command(format!(
            "ca_server did not return a certificate: {}",
            python::str(&answer)
        ))
    })?;
    Ok((certificate, key))
}
