//! Entries of PEM.

use std::path::PathBuf;

use halite_call::{Call, CallError, CallResult, os_error, python};
use halite_proto::{Map, Value};

use crate::text::{self, Pem, pems};

/// The first entry, of the kind that is named.
pub(crate) fn find(value: &Value, kind: Option<&str>) -> Result<String, CallError> {
    let data = match value {
        Value::Str(given) if given.contains("-----BEGIN") => given.clone().into_bytes(),
        value => text::load(value)?,
    };
    let text = String::from_utf8_lossy(&data).replace("\\n", "\n");
    let is_wanted = |pem: &&Pem| match kind {
        None => true,
        Some(kind) => is_kind(&pem.label, kind),
    };
    let found = pems(&text).iter().find(is_wanted).map(Pem::written);
    found.ok_or_else(|| {
        // A text with a key is not repeated.
        let shown = if text.contains("PRIVATE KEY") {
            "(a private key)"
        } else {
            text.as_str()
        };
        CallError::invocation(match kind {
            Some(kind) => format!("PEM does not contain a single entry of type {kind}:\n{shown}"),
            None => format!("PEM text not valid:\n{shown}"),
        })
    })
}

/// Kinds may be named with a choice: `(?:RSA )?PRIVATE KEY`.
fn is_kind(label: &str, kind: &str) -> bool {
    match kind.split_once(")?") {
        Some((_, rest)) if kind.starts_with('(') => {
            label == rest || label.ends_with(&format!(" {rest}"))
        }
        _ => label == kind,
    }
}

pub(super) fn entry(call: &Call<'_>) -> CallResult {
    let kind = call.text_opt("pem_type");
    Ok(find(call.arg("text"), kind.as_deref())?.into())
}

/// The files that a pattern names.
pub(super) fn files(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let pattern = call.text("glob_path");
    let (directory, name) = pattern.rsplit_once('/').unwrap_or((".", &pattern));
    let place = if directory.is_empty() { "/" } else { directory };
    let mut found = Vec::new();
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries {
        let own = entry.file_name().to_string_lossy().into_owned();
        let hidden = own.starts_with('.') && !name.starts_with('.');
        if !hidden && entry.path().is_file() && halite_target::glob::fnmatch(name, &own) {
            found.push(format!("{directory}/{own}"));
        }
    }
    found.sort();
    Ok(found)
}

pub(super) fn entries(call: &Call<'_>) -> CallResult {
    let mut all = Map::new();
    for path in files(call)? {
        let value = Value::from(path.as_str());
        all.insert(path, find(&value, None)?);
    }
    Ok(all.into())
}

pub(super) fn write(call: &Call<'_>) -> CallResult {
    let kind = call.text_opt("pem_type");
    let mut text = find(call.arg("text"), kind.as_deref())?;
    let given = call.text("path");
    let path = PathBuf::from(&given);
    if kind.as_deref() == Some("CERTIFICATE") && !call.flag("overwrite") && path.is_file() {
        // A file may hold a key and parameters beside the certificate.
        let old =
            halite_call::paths::read_to_string(&path).map_err(|error| os_error(&error, &given))?;
        let old = pems(&old);
        let of = |kinds: &[&str]| {
            let found = old.iter().find(|pem| kinds.contains(&pem.label.as_str()));
            found.map(Pem::written).unwrap_or_default()
        };
        let key = of(&["PRIVATE KEY", "RSA PRIVATE KEY"]);
        text = key + &text + &of(&["DH PARAMETERS"]);
    }
    crate::files::write(&path, &text)?;
    Ok(format!("PEM written to {}", python::str(call.arg("path"))).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_may_be_a_choice() {
        assert!(is_kind("RSA PRIVATE KEY", "(?:RSA )?PRIVATE KEY"));
        assert!(is_kind("PRIVATE KEY", "(?:(RSA|ENCRYPTED) )?PRIVATE KEY"));
        assert!(!is_kind("CERTIFICATE", "(?:RSA )?PRIVATE KEY"));
        assert!(is_kind("CERTIFICATE", "CERTIFICATE"));
    }
}
