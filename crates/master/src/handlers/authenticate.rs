//! Who a local program speaks for: by a key file, by logging in, or by a token
//! of an earlier login.
//!
//! Invariant: a proof is judged by its own kind only. What shows a token or a
//! password is never taken for something else when that fails.

use std::fs;
use std::path::Path;

use halite_crypto::{HashType, constant_time_eq, hash_hex};
use halite_proto::clear::{Credentials, TokenRequest};
use halite_proto::{Map, Value};

use crate::clock::now_s;
use crate::core::acl::Rights;
use crate::core::eauth::{self, Office, may_run};
use crate::error::chain;
use crate::master::Master;

/// A local program's user.
#[derive(Clone, Debug)]
pub(crate) struct LocalUser {
    /// What they may do.
    pub(crate) rights: Rights,
    /// The name they have proven; `None` where it is what they say.
    pub(crate) name: Option<String>,
}

/// The kind of proof that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unproven {
    /// A token.
    Token,
    /// A login.
    Eauth,
    /// A key file.
    Key,
}

impl Unproven {
    /// The name that Salt's masters give the error.
    pub(crate) const fn error_name(self) -> &'static str {
        match self {
            Self::Token => "TokenAuthenticationError",
            Self::Eauth => "EauthAuthenticationError",
            Self::Key => "UserAuthenticationError",
        }
    }

    /// Whether the answer is to take its time, so that nobody can try many
    /// passwords or tokens.
    pub(crate) const fn is_slow(self) -> bool {
        matches!(self, Self::Token | Self::Eauth)
    }
}

impl LocalUser {
    /// Whether they may run a function of the master. Key files of other users
    /// than the master's own permit what `publisher_acl` lists, and that are
    /// functions of minions.
    pub(crate) fn may_run(&self, office: Office, fun: &str, args: &[Value]) -> bool {
        match &self.rights {
            Rights::Full => true,
            Rights::Listed(perms) => self.name.is_some() && may_run(perms, office, fun, args),
        }
    }
}

/// Proves who a program speaks for; `user` is who it says.
pub(crate) fn authenticate(
    master: &Master,
    credentials: &Credentials,
    user: Option<&str>,
) -> Result<LocalUser, Unproven> {
    if let Some(token) = &credentials.token {
        return by_token(master, token).ok_or(Unproven::Token);
    }
    if let Some(eauth) = &credentials.eauth {
        return by_login(master, eauth, credentials).ok_or(Unproven::Eauth);
    }
    by_key(master, credentials, user).ok_or(Unproven::Key)
}

fn by_key(master: &Master, credentials: &Credentials, user: Option<&str>) -> Option<LocalUser> {
    let owner = master.local_keys.owner_of(credentials.key.as_deref()?);
    let rights = master.users().authenticate(user, owner)?;
    Some(LocalUser { rights, name: None })
}

fn by_token(master: &Master, token: &str) -> Option<LocalUser> {
    let data = master.tokens.get(token, now_s())?;
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    let (name, eauth) = (text("name")?, text("eauth")?);
    let kept = data.get("auth_list").and_then(Value::as_list);
    let groups: Vec<String> = data
        .get("groups")
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .filter_map(|group| group.as_str().map(str::to_owned))
        .collect();
    let perms = match kept {
        Some(kept) => kept.to_vec(),
        None => permitted(master, eauth, name, &groups)?,
    };
    Some(LocalUser {
        rights: Rights::Listed(perms),
        name: Some(name.to_owned()),
    })
}

fn by_login(master: &Master, eauth: &str, credentials: &Credentials) -> Option<LocalUser> {
    let name = credentials.username.as_deref()?;
    let password = credentials.password.as_deref().unwrap_or_default();
    if !logs_in(master, eauth, name, password) {
        return None;
    }
    Some(LocalUser {
        rights: Rights::Listed(permitted(master, eauth, name, &[])?),
        name: Some(name.to_owned()),
    })
}

fn permitted(master: &Master, eauth: &str, name: &str, groups: &[String]) -> Option<Vec<Value>> {
    let external = &master.settings.external_auth;
    let entries = eauth::backend(&external.rules, eauth)?;
    Some(eauth::permitted(
        entries,
        name,
        groups,
        external.is_permissive,
    ))
}

/// Whether the password is right.
fn logs_in(master: &Master, eauth: &str, name: &str, password: &str) -> bool {
    let Some(entries) = eauth::backend(&master.settings.external_auth.rules, eauth) else {
        tracing::warn!("external_auth has no entries for {eauth:?}");
        return false;
    };
    match eauth {
        // Salt's way for tests: everybody is who they say.
        "auto" => true,
        "file" => in_file(entries, name, password).unwrap_or_else(|why| {
            tracing::error!("external_auth: file: {why}");
            false
        }),
        "sharedsecret" => {
            let secret = master.opts.get("sharedsecret").and_then(Value::as_str);
            secret.is_some_and(|secret| {
                !secret.is_empty() && constant_time_eq(secret.as_bytes(), password.as_bytes())
            })
        }
        other => {
            tracing::error!(
                "external_auth: this master has `auto`, `file` and `sharedsecret`, not {other:?}"
            );
            false
        }
    }
}

/// Whether a text file has the user with this password; the options are
/// Salt's.
fn in_file(entries: &Map, name: &str, password: &str) -> Result<bool, String> {
    let text = |option: &str, default: &'static str| {
        let value = eauth::option(entries, option).and_then(Value::as_str);
        value.unwrap_or(default).to_owned()
    };
    let field = |option: &str, default: i64| {
        let value = eauth::option(entries, option).and_then(Value::as_i64);
        usize::try_from(value.unwrap_or(default) - 1).map_err(|_| format!("^{option} is no field"))
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

/// Makes a token for who can log in; what it stands for.
pub(crate) fn make_token(master: &Master, request: &TokenRequest) -> Result<Map, Unproven> {
    let external = &master.settings.external_auth;
    let credentials = &request.credentials;
    let eauth = credentials.eauth.as_deref().ok_or(Unproven::Eauth)?;
    let user = by_login(master, eauth, credentials).ok_or(Unproven::Eauth)?;
    let name = user.name.unwrap_or_default();
    let wished = request.token_expire.as_ref().and_then(Value::as_i64);
    let lifetime = wished
        .filter(|_| may_choose_lifetime(&external.token_expire_override, eauth, &name))
        .and_then(|seconds| u64::try_from(seconds).ok())
        .unwrap_or(external.token_expire_s);
    let kept = match user.rights {
        Rights::Listed(perms) if external.keep_acl => Some(perms),
        _ => None,
    };
    master
        .tokens
        .make(&name, eauth, lifetime, kept, now_s())
        .map_err(|error| {
            tracing::error!("could not make a token: {}", chain(&error));
            Unproven::Eauth
        })
}

fn may_choose_lifetime(rule: &Value, eauth: &str, name: &str) -> bool {
    match rule {
        Value::Map(users) => users
            .get(eauth)
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .any(|user| user.as_str() == Some(name)),
        other => other.is_true(),
    }
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
    fn a_lifetime_may_be_chosen_by_who_is_listed() {
        let users = Value::from(Map::from([("pam", Value::List(vec!["ali".into()]))]));
        assert!(may_choose_lifetime(&users, "pam", "ali"));
        assert!(!may_choose_lifetime(&users, "pam", "bab"));
        assert!(!may_choose_lifetime(&users, "file", "ali"));
        assert!(may_choose_lifetime(&true.into(), "pam", "bab"));
    }
}
