//! The certificates of trusted authorities.

use halite_call::host::replace_file;
use halite_call::{Call, CallError, CallResult, os_error, paths, python};
use halite_proto::{Map, Value};

use super::query;

/// Where it is fetched from unless told otherwise.
const SOURCE: &str = "https://curl.se/ca/cacert.pem";

/// Where systems have it.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/certs/ca-bundle.trust.crt",
    "/etc/ssl/certs/ca-bundle.crt",
    "/var/lib/ca-certificates/ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
];

fn option(call: &Call<'_>, argument: &str, name: &str) -> Result<Option<String>, CallError> {
    if let Some(given) = call.text_opt(argument) {
        return Ok(Some(given));
    }
    let args = [Value::from(name), Value::Nil];
    let found = call.salt("config.get", &args, Map::new())?;
    Ok(found.is_true().then(|| python::str(&found)))
}

pub(super) fn update_ca_bundle(call: &Call<'_>) -> CallResult {
    let host = call.host();
    let target = match option(call, "target", "ca_bundle")? {
        Some(target) => Some(target),
        None => BUNDLES
            .into_iter()
            .find(|path| host.path(path).exists())
            .map(str::to_owned),
    };
    let Some(target) = target else {
        return Err(CallError::command(
            "Unable to detect location to write CA bundle to",
        ));
    };
    let source = option(call, "source", "ca_bundle_url")?;
    let source = source.unwrap_or_else(|| SOURCE.to_owned());
    let kwargs = Map::from([("text", true), ("decode", false)]);
    let answer = query::query(call, &source, &kwargs)?;
    let body = answer.get("body").or_else(|| answer.get("text"));
    let Some(mut text) = body.and_then(Value::as_str).map(str::to_owned) else {
        let why = answer.get("error").map(python::str).unwrap_or_default();
        return Err(CallError::command(format!("{source}: {why}")));
    };
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        // An empty bundle would make the machine trust nobody.
        return Err(CallError::command(format!(
            "{source} holds no certificates"
        )));
    }
    for file in python::texts(call.arg("merge_files")) {
        match paths::read_to_string(host.path(&file)) {
            Ok(more) => {
                text.push_str("\n\n");
                text.push_str(&more);
            }
            Err(error) => {
                tracing::error!("Reading from {file} caused the following error: {error}");
            }
        }
    }
    replace_file(&host.path(&target), text.as_bytes())
        .map_err(|error| os_error(&error, &target))?;
    Ok(Value::Nil)
}
