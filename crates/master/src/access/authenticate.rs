//! Proves which user a local program speaks for: by a key file, a login, or the
//! token of an earlier login.
//!
//! Invariant: each kind of proof is checked as that kind only. A failed token or
//! password is never tried as anything else.

use halite_call::args::Parted;
use halite_proto::clear::{Credentials, TokenRequest};
use halite_proto::{Map, Value};

use super::{Access, logins};
use crate::clock::now_s;
use crate::core::acl::{Rights, SUDO};
use crate::core::eauth::{Office, may_run};
use crate::core::gate::Cause;
use crate::core::owner::ProvenBy;
use crate::core::perms::Perm;
use crate::error::chain;
use crate::tokens::LoggedIn;

/// A local program's user.
#[derive(Clone, Debug)]
pub(crate) struct LocalUser {
    /// Their rights.
    pub(crate) rights: Rights,
    /// The name they have proven; `None` where it is what they say.
    pub(crate) name: Option<String>,
    /// How they have proven it.
    pub(crate) proven_by: ProvenBy,
    /// Whose key file they have shown.
    pub(crate) key_owner: Option<String>,
    /// The groups that the way to log in says they are in.
    groups: Vec<String>,
    /// The rights were given at the login and are in no entry.
    only_now: bool,
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

    /// Why such a request is refused.
    pub(crate) const fn cause(self) -> Cause {
        match self {
            Self::Token => Cause::UnprovenToken,
            Self::Eauth => Cause::UnprovenLogin,
            Self::Key => Cause::UnprovenKey,
        }
    }

    /// Whether the answer is to take its time, so that nobody can try many
    /// passwords or tokens.
    pub(crate) const fn is_slow(self) -> bool {
        matches!(self, Self::Token | Self::Eauth)
    }
}

impl LocalUser {
    /// The user's name, if it is proven.
    pub(crate) fn proven(&self) -> Option<&str> {
        self.name.as_deref().or(self.key_owner.as_deref())
    }

    /// Whether a program that says it runs for `user` runs for somebody behind
    /// sudo: only who shows a key of the master's own users may say so.
    pub(crate) fn is_behind_sudo(&self, user: Option<&str>) -> bool {
        self.name.is_none() && user.is_some_and(|user| user.starts_with(SUDO))
    }

    /// Whether they may run a function of the master. Key files of other users
    /// than the master's own permit what `publisher_acl` lists, and that are
    /// functions of minions.
    pub(crate) fn may_run(&self, office: Office, fun: &str, args: &Parted) -> bool {
        match &self.rights {
            Rights::Full => true,
            Rights::Listed(perms) => self.name.is_some() && may_run(perms, office, fun, args),
        }
    }
}

impl Access {
    /// Proves who a program speaks for; `user` is who it says.
    pub(crate) fn authenticate(
        &self,
        credentials: &Credentials,
        user: Option<&str>,
    ) -> Result<LocalUser, Unproven> {
        if let Some(token) = &credentials.token {
            return self.by_token(token).ok_or(Unproven::Token);
        }
        if let Some(eauth) = &credentials.eauth {
            return self.by_login(eauth, credentials).ok_or(Unproven::Eauth);
        }
        self.by_key(credentials, user).ok_or(Unproven::Key)
    }

    fn by_key(&self, credentials: &Credentials, user: Option<&str>) -> Option<LocalUser> {
        let owner = self.local_keys.owner_of(credentials.key.as_deref()?);
        let rights = self.users().authenticate(user, owner)?;
        Some(LocalUser {
            rights,
            name: None,
            proven_by: ProvenBy::Key,
            key_owner: owner.map(str::to_owned),
            groups: Vec::new(),
            only_now: false,
        })
    }

    fn by_token(&self, token: &str) -> Option<LocalUser> {
        let data = self.tokens.get(token, now_s())?;
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
            Some(kept) => kept.iter().map(Perm::new).collect(),
            None => self.permitted(eauth, name, &groups)?,
        };
        let perms = logins::processed(self, eauth, perms);
        Some(LocalUser {
            rights: Rights::Listed(perms),
            name: Some(name.to_owned()),
            proven_by: ProvenBy::Login(eauth.to_owned()),
            key_owner: None,
            groups,
            only_now: false,
        })
    }

    fn by_login(&self, eauth: &str, credentials: &Credentials) -> Option<LocalUser> {
        let name = credentials.username.as_deref()?;
        let password = credentials.password.as_deref().unwrap_or_default();
        if !logins::are_short(name, password) || !logins::could_serve(self, eauth, name) {
            return None;
        }
        let login = logins::log_in(self, eauth, name, password)?;
        let said = logins::acl(self, eauth, name, password).ok()?;
        let only_now = said.is_some() || logins::says_rights(eauth);
        let perms = match said {
            Some(rights) => rights.iter().map(Perm::new).collect(),
            None => {
                let mut perms = self.permitted(eauth, name, &login.groups)?;
                perms.extend(login.perms.iter().map(Perm::new));
                perms
            }
        };
        // Who may do nothing learns nothing, not even that the password is right.
        if perms.is_empty() && !only_now {
            return None;
        }
        let perms = logins::processed(self, eauth, perms);
        Some(LocalUser {
            rights: Rights::Listed(perms),
            name: Some(name.to_owned()),
            proven_by: ProvenBy::Login(eauth.to_owned()),
            key_owner: None,
            groups: login.groups,
            only_now,
        })
    }

    fn permitted(&self, eauth: &str, name: &str, groups: &[String]) -> Option<Vec<Perm>> {
        let external = &self.settings.external_auth;
        let grants = external.grants.get(eauth)?;
        Some(grants.permitted(name, groups, external.is_permissive))
    }

    /// Makes a token for a user who can log in; returns its data.
    pub(crate) fn make_token(&self, request: &TokenRequest) -> Result<Map, Unproven> {
        let external = &self.settings.external_auth;
        let credentials = &request.credentials;
        let eauth = credentials.eauth.as_deref().ok_or(Unproven::Eauth)?;
        let user = self.by_login(eauth, credentials).ok_or(Unproven::Eauth)?;
        let name = user.name.unwrap_or_default();
        let wished = request.token_expire.as_ref().and_then(Value::as_i64);
        let lifetime = wished
            .filter(|_| may_choose_lifetime(&external.token_expire_override, eauth, &name))
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or(external.token_expire_s);
        let kept = match user.rights {
            // What a server has said at the login is known only now.
            Rights::Listed(perms) if external.keep_acl || user.only_now => {
                Some(perms.iter().map(|perm| perm.given().clone()).collect())
            }
            _ => None,
        };
        let who = LoggedIn {
            name: &name,
            eauth,
            groups: &user.groups,
        };
        self.tokens
            .make(who, lifetime, kept, now_s())
            .map_err(|error| {
                tracing::error!("could not make a token: {}", chain(&error));
                Unproven::Eauth
            })
    }
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
    fn a_lifetime_may_be_chosen_by_who_is_listed() {
        let users = Value::from(Map::from([("pam", Value::List(vec!["ali".into()]))]));
        assert!(may_choose_lifetime(&users, "pam", "ali"));
        assert!(!may_choose_lifetime(&users, "pam", "bab"));
        assert!(!may_choose_lifetime(&users, "file", "ali"));
        assert!(may_choose_lifetime(&true.into(), "pam", "bab"));
    }
}
