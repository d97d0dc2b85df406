//! `file`: names and passwords in a text file.

use std::fs;
use std::path::Path;

use halite_crypto::{HashType, constant_time_eq, hash_hex};
use halite_proto::{Map, Value};

use crate::core::eauth;
use crate::error::chain;

/// Whether the options can be used.
pub(super) fn check(entries: &Map) -> Result<(), String> {
    let text = |option: &str| eauth::option(entries, option).and_then(Value::as_str);
    if text("filename").is_none_or(str::is_empty) {
        return Err("the option ^filename is missing".to_owned());
    }
    if let Some(kind) = text("filetype").filter(|kind| *kind != "text") {
        return Err(format!(
            "^filetype: files of the type {kind:?} are not supported, only \"text\""
        ));
    }
    match text("hashtype").filter(|hash| *hash != "plaintext") {
        Some(hash) => HashType::parse(hash)
            .map(|_| ())
            .map_err(|error| format!("^hashtype: {}", chain(&error))),
        None => Ok(()),
    }
}

/// Whether a text file has the user with this password; the options are
/// Salt's.
pub(super) fn in_file(entries: &Map, name: &str, password: &str) -> Result<bool, String> {
    let text = |option: &str, default: &'static str| {
        let value = eauth::option(entries, option).and_then(Value::as_str);
        value.unwrap_or(default).to_owned()
    };
    let field = |option: &str, default: i64| {
        let value = eauth::option(entries, option).and_then(Value::as_i64);
        usize::try_from(value.unwrap_or(default) - 1)
            .map_err(|_| format!("^{option} is not the number of a field"))
    };
    let path = text("filename", "");
    if path.is_empty() {
        return Err("the option ^filename is missing".to_owned());
    }
    let kind = text("filetype", "text");
    if kind != "text" {
        return Err(format!("files of the type {kind:?} are not supported"));
    }
    let content =
        fs::read_to_string(Path::new(&path)).map_err(|error| format!("{path}: {error}"))?;
    let separator = text("field_separator", ":");
    let (name_at, password_at) = (field("username_field", 1)?, field("password_field", 2)?);
    let shown = match text("hashtype", "plaintext").as_str() {
        "plaintext" => password.to_owned(),
        hash => {
            let hash = HashType::parse(hash).map_err(|error| chain(&error))?;
            hash_hex(hash, password.as_bytes())
        }
    };
    for line in content.lines() {
        let fields: Vec<&str> = line.trim().split(separator.as_str()).collect();
        if fields.get(name_at) == Some(&name) {
            let right = fields.get(password_at).copied().unwrap_or_default();
            return Ok(!right.is_empty() && constant_time_eq(right.as_bytes(), shown.as_bytes()));
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_names_and_passwords_is_read_by_its_options() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("users");
        let digest = hash_hex(HashType::Sha256, b"sesame");
        fs::write(&path, format!("1,ali,sesame\n2,bab,{digest}\n3,nil,\n")).unwrap();
        let entries = |hash: &str| {
            Map::from([
                ("^filename", Value::from(path.to_str().unwrap())),
                ("^field_separator", ",".into()),
                ("^username_field", 2.into()),
                ("^password_field", 3.into()),
                ("^hashtype", hash.into()),
            ])
        };
        let plain = entries("plaintext");
        assert_eq!(in_file(&plain, "ali", "sesame"), Ok(true));
        assert_eq!(in_file(&plain, "ali", "wrong"), Ok(false));
        assert_eq!(in_file(&plain, "nobody", "sesame"), Ok(false));
        // No password is no password, not the empty one.
        assert_eq!(in_file(&plain, "nil", ""), Ok(false));
        assert_eq!(in_file(&entries("sha256"), "bab", "sesame"), Ok(true));
        assert!(in_file(&entries("whirl"), "bab", "sesame").is_err());
        assert!(in_file(&Map::new(), "ali", "sesame").is_err());
    }

    #[test]
    fn options_that_cannot_be_used_are_found_before() {
        let with = |name: &str, value: &str| {
            check(&Map::from([("^filename", "/etc/users"), (name, value)]))
        };
        assert!(with("^hashtype", "sha256").is_ok());
        assert!(with("^hashtype", "whirl").is_err());
        assert!(with("^filetype", "htpasswd").is_err());
        assert!(check(&Map::new()).is_err());
    }
}
