//! The login methods of `external_auth`: they check a name and a password.
//!
//! Invariant: only configured methods are used; a method that fails to answer
//! refuses the login.

mod file;
mod groups;
mod ldap;
mod python;
mod rest;

use halite_crypto::constant_time_eq;
use halite_ldap::Directory;
use halite_process::password;
use halite_proto::shown::quoted;
use halite_proto::{Map, Value};

use crate::access::Access;
use crate::core::eauth;
use crate::core::perms::Perm;
use crate::error::chain;
use crate::limits::{LOGIN_NAME_BYTES_MAX, LOGIN_PASSWORD_BYTES_MAX, SHOWN_CHARS_MAX};

/// What came of a login.
#[derive(Debug, Default)]
pub(crate) struct Login {
    /// The groups that the user is in.
    pub(crate) groups: Vec<String>,
    /// What else the user may do, in the form of the entries.
    pub(crate) perms: Vec<Value>,
}

/// Whether the ways that are configured can be used.
///
/// # Errors
/// With what is wrong.
pub(crate) fn check(rules: &Map) -> Result<(), String> {
    for (name, entries) in rules {
        let name = name.as_str().unwrap_or_default();
        let none = Map::new();
        let entries = entries.as_map().unwrap_or(&none);
        let checked = match name {
            "file" => file::check(entries),
            "rest" => rest::check(entries),
            _ => Ok(()),
        };
        checked.map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

/// The ways that need no Python.
const OURS: &[&str] = &["auto", "file", "ldap", "pam", "rest", "sharedsecret"];

/// Whether a way says itself what a user may do, so that only the login knows.
pub(crate) fn says_rights(eauth: &str) -> bool {
    eauth == "rest"
}

/// Whether a user of this name could do anything after logging in, as far as that is
/// known without the password. If not, the password is not checked: otherwise strangers
/// could guess the passwords of accounts that have nothing to do with this master, and
/// lock them.
pub(crate) fn could_serve(access: &Access, eauth: &str, name: &str) -> bool {
    let external = &access.settings.external_auth;
    let (Some(grants), Some(entries)) = (
        external.grants.get(eauth),
        eauth::backend(&external.rules, eauth),
    ) else {
        // The login itself says that there are no entries. Whose way to log in
        // this is, is not looked up: strangers name it, and Python would run.
        return true;
    };
    let is_python = !OURS.contains(&eauth);
    let may_say_rights = says_rights(eauth) || is_python && python::has(access, eauth, "acl");
    if may_say_rights || !external.acl_module.is_empty() {
        return true;
    }
    match eauth {
        "ldap" => grants.could_permit(name, None),
        "pam" => grants.could_permit(name, Some(&groups::of_user(entries, name))),
        module if is_python && python::has(access, module, "groups") => {
            grants.could_permit(name, None)
        }
        _ => grants.could_permit(name, Some(&[])),
    }
}

/// Whether a name and a password are short enough to be judged.
pub(crate) fn are_short(name: &str, password: &str) -> bool {
    name.len() <= LOGIN_NAME_BYTES_MAX && password.len() <= LOGIN_PASSWORD_BYTES_MAX
}

/// The rights that a module gives a user who has logged in, in place of the entries:
/// `eauth_acl_module`, or a login method in Python. `None` if there is no module or it
/// returns nothing.
///
/// # Errors
/// When it cannot be asked: then nothing is permitted.
pub(crate) fn acl(
    access: &Access,
    eauth: &str,
    name: &str,
    password: &str,
) -> Result<Option<Vec<Value>>, ()> {
    let wanted = access.settings.external_auth.acl_module.as_str();
    let module = if wanted.is_empty() { eauth } else { wanted };
    if OURS.contains(&module) {
        return Ok(None);
    }
    let failed = |why: String| tracing::error!("external_auth: {module}: {why}");
    if module == wanted && !python::is_there(access, module) {
        failed("eauth_acl_module: there is no such module".to_owned());
        return Err(());
    }
    python::acl(access, module, eauth, name, password).map_err(failed)
}

/// The directory, if users log in there.
///
/// # Errors
/// When its options are wrong.
pub(crate) fn directory(rules: &Map, opts: &Map) -> Result<Option<Directory>, String> {
    if eauth::backend(rules, "ldap").is_none() {
        return Ok(None);
    }
    Directory::from_options(opts)
        .map(Some)
        .map_err(|error| error.to_string())
}

/// What somebody may do, with what only the way to log in knows about it.
pub(crate) fn processed(access: &Access, eauth: &str, perms: Vec<Perm>) -> Vec<Perm> {
    match &access.settings.external_auth.directory {
        Some(directory) if eauth == "ldap" => {
            let given = perms.iter().map(|perm| perm.given().clone()).collect();
            let expanded = ldap::expanded(directory, given);
            expanded.iter().map(Perm::new).collect()
        }
        _ => perms,
    }
}

/// Logs in; `None` is a refusal.
pub(crate) fn log_in(access: &Access, eauth: &str, name: &str, password: &str) -> Option<Login> {
    let Some(entries) = eauth::backend(&access.settings.external_auth.rules, eauth) else {
        if access.telemetry.may_log("", "eauth") {
            let way = quoted(eauth, SHOWN_CHARS_MAX);
            tracing::warn!("external_auth has no entries for {way}");
        }
        return None;
    };
    // It has an entry, so its name is the configuration's.
    let failed = |why: String| {
        if access.telemetry.may_log(eauth, "external_auth") {
            tracing::error!("external_auth: {eauth}: {why}");
        }
    };
    let known = |is_right: bool| is_right.then(Login::default);
    match eauth {
        // Salt's way for tests: everybody is who they say.
        "auto" => Some(Login::default()),
        "file" => known(
            file::in_file(entries, name, password)
                .map_err(failed)
                .ok()?,
        ),
        "ldap" => {
            let directory = access.settings.external_auth.directory.as_ref()?;
            ldap::log_in(directory, entries, name, password)
                .map_err(failed)
                .ok()?
        }
        "pam" => {
            // The service is the master's choice, never the caller's.
            let service = access
                .general
                .opts
                .get("auth.pam.service")
                .and_then(Value::as_str);
            let service = service.filter(|service| !service.is_empty());
            let is_right = password::is_right(service.unwrap_or("login"), name, password)
                .map_err(|error| failed(chain(&error)))
                .ok()?;
            known(is_right).map(|login| Login {
                groups: groups::of_user(entries, name),
                ..login
            })
        }
        "rest" => rest::log_in(access, entries, name, password)
            .map_err(failed)
            .ok()?
            .map(|perms| Login {
                perms,
                ..Login::default()
            }),
        "sharedsecret" => {
            let secret = access
                .general
                .opts
                .get("sharedsecret")
                .and_then(Value::as_str);
            let secret = secret.filter(|secret| !secret.is_empty())?;
            known(constant_time_eq(secret.as_bytes(), password.as_bytes()))
        }
        users => python::log_in(access, users, name, password)
            .map_err(failed)
            .ok()?,
    }
}
