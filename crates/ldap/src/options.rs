//! `auth.ldap.*`: where the directory is, and how users and groups are found.

use std::fmt;
use std::sync::Arc;

use halite_crypto::Secret;
use halite_jinja::{Engine, Globals, NoHost, Settings, Template};
use halite_proto::{Map, Value};
use ldap3::Scope;

use crate::error::{LdapError, OptionError};

const PREFIX: &str = "auth.ldap.";

/// All that Salt reads.
const NAMES: [&str; 25] = [
    "accountattributename",
    "activedirectory",
    "anonymous",
    "auth_by_group_membership_only",
    "basedn",
    "binddn",
    "bindpw",
    "filter",
    "freeipa",
    "group_basedn",
    "group_filter",
    "groupattribute",
    "groupclass",
    "groupou",
    "minion_stripdomains",
    "no_verify",
    "persontype",
    "port",
    "scope",
    "server",
    "starttls",
    "tls",
    "uri",
    "user",
    "version",
];

/// A text of the options with the user's name in it.
#[derive(Clone)]
pub(crate) struct WithName {
    option: &'static str,
    template: Arc<Template>,
    /// Whether the rest of it is a DN or an address (`{{ username }}@corp`).
    pub(crate) is_dn: bool,
}

impl WithName {
    fn parse(option: &'static str, text: &str) -> Result<Self, OptionError> {
        let template = Engine::new(Settings::jinja()).parse(option, text);
        let template = template.map_err(|error| OptionError::Wrong {
            option,
            why: error.to_string(),
        })?;
        Ok(Self {
            option,
            template: Arc::new(template),
            is_dn: text.contains('='),
        })
    }

    /// The text with a name that is escaped already.
    pub(crate) fn with(&self, escaped: &str) -> Result<String, LdapError> {
        let mut globals = Globals::new();
        globals.insert_data("username", &escaped.into());
        let rendered = self.template.render(&NoHost, &globals);
        rendered.map_err(|source| LdapError::Template {
            option: self.option,
            source,
        })
    }
}

impl fmt::Debug for WithName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option)
    }
}

/// Who looks for a user.
pub(crate) enum Finder {
    /// Somebody with a password of their own.
    Account {
        /// Their name.
        dn: String,
        /// Their password.
        password: Secret<String>,
        /// What finds the user.
        filter: WithName,
    },
    /// Nobody.
    Anybody {
        /// What finds the user.
        filter: WithName,
    },
    /// Nobody has to: the name says where the user is.
    Known(WithName),
}

/// How groups are found.
pub(crate) enum Groups {
    /// Entries that list their members, or members that list their groups.
    Posix {
        /// Where they are.
        base: String,
    },
    /// By the user's own name in the directory.
    ActiveDirectory,
    /// By a search of its own.
    FreeIpa {
        /// Where they are.
        base: String,
        /// Which ones.
        filter: WithName,
    },
}

/// The options.
pub(crate) struct Options {
    /// The servers, in the order in which they are tried.
    pub(crate) uris: Vec<String>,
    pub(crate) starttls: bool,
    pub(crate) no_verify: bool,
    pub(crate) basedn: String,
    pub(crate) scope: Scope,
    pub(crate) finder: Finder,
    pub(crate) groups: Groups,
    pub(crate) account: String,
    pub(crate) group_attribute: String,
    pub(crate) group_class: String,
    pub(crate) person_type: String,
    pub(crate) strip_domains: Vec<String>,
}

/// The options as they stand.
struct Given<'o>(&'o Map);

impl<'o> Given<'o> {
    fn get(&self, name: &str) -> Option<&'o Value> {
        let value = self.0.get(&format!("{PREFIX}{name}"))?;
        (!value.is_nil()).then_some(value)
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(Value::is_true)
    }

    /// A text. Numbers count as texts; `False` and empty texts as unset.
    fn text(&self, name: &'static str) -> Result<Option<String>, OptionError> {
        match self.get(name) {
            None | Some(Value::Bool(false)) => Ok(None),
            Some(Value::Str(text)) => Ok((!text.is_empty()).then(|| text.clone())),
            Some(Value::Int(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(OptionError::Wrong {
                option: name,
                why: "it must be a string".to_owned(),
            }),
        }
    }

    fn text_or(&self, name: &'static str, default: &str) -> Result<String, OptionError> {
        Ok(self.text(name)?.unwrap_or_else(|| default.to_owned()))
    }
}

impl Options {
    pub(crate) fn read(opts: &Map) -> Result<Self, OptionError> {
        warn_of_unknown(opts);
        let given = Given(opts);
        if given.flag("auth_by_group_membership_only") && given.flag("anonymous") {
            return Err(OptionError::Wrong {
                option: "auth_by_group_membership_only",
                why: "with auth.ldap.anonymous it would let in whoever knows a name".to_owned(),
            });
        }
        let finder = finder(&given)?;
        let basedn = given.text("basedn")?;
        let basedn = match (&finder, basedn) {
            (_, Some(basedn)) => basedn,
            // Who says nothing of groups needs no base.
            (Finder::Known(_), None) => String::new(),
            (_, None) => {
                return Err(OptionError::Missing {
                    option: "basedn",
                    why: "users are searched for below it",
                });
            }
        };
        let strip_domains = match given.get("minion_stripdomains") {
            Some(Value::Str(domain)) => vec![domain.clone()],
            Some(Value::List(domains)) => domains
                .iter()
                .filter_map(|domain| domain.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        };
        Ok(Self {
            uris: uris(&given)?,
            starttls: given.flag("starttls"),
            no_verify: given.flag("no_verify"),
            scope: scope(&given)?,
            groups: groups(&given, &basedn)?,
            basedn,
            finder,
            account: given.text_or("accountattributename", "memberUid")?,
            group_attribute: given.text_or("groupattribute", "memberOf")?,
            group_class: given.text_or("groupclass", "posixGroup")?,
            person_type: given.text_or("persontype", "person")?,
            strip_domains,
        })
    }
}

fn warn_of_unknown(opts: &Map) {
    let names = opts.keys().filter_map(Value::as_str);
    let unknown = names
        .filter_map(|name| name.strip_prefix(PREFIX))
        .filter(|name| !NAMES.contains(name));
    for name in unknown {
        tracing::warn!("{PREFIX}{name} is not an option of LDAP and has no effect");
    }
}

fn uris(given: &Given<'_>) -> Result<Vec<String>, OptionError> {
    let wrong = |option, why: &str| OptionError::Wrong {
        option,
        why: why.to_owned(),
    };
    let (tls, starttls) = (given.flag("tls"), given.flag("starttls"));
    if tls && starttls {
        return Err(wrong("starttls", "auth.ldap.tls is set as well"));
    }
    let uris: Vec<String> = match given.text("uri")? {
        // The library of Salt takes several, tried in turn.
        Some(uris) => uris.split_whitespace().map(str::to_owned).collect(),
        None => {
            let scheme = if tls { "ldaps" } else { "ldap" };
            let server = given.text_or("server", "localhost")?;
            let port = given.text_or("port", "389")?;
            if port.parse::<u16>().is_err() {
                return Err(wrong("port", "it is not a port"));
            }
            vec![format!("{scheme}://{server}:{port}")]
        }
    };
    let schemes: &[&str] = match (starttls, tls) {
        (true, _) => &["ldap://"],
        // Else passwords would go in the clear where they are meant not to.
        (false, true) => &["ldaps://", "ldapi://"],
        (false, false) => &["ldap://", "ldaps://", "ldapi://"],
    };
    let is_right = |uri: &String| {
        let rest = schemes.iter().find_map(|scheme| uri.strip_prefix(scheme));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with([':', '/']))
    };
    match uris.iter().all(is_right) && !uris.is_empty() {
        true => Ok(uris),
        false if tls => Err(wrong("uri", "with tls it is to be ldaps://<server>")),
        false if starttls => Err(wrong("uri", "with starttls it is to be ldap://<server>")),
        false => Err(wrong("uri", "it is not the address of a directory server")),
    }
}

fn scope(given: &Given<'_>) -> Result<Scope, OptionError> {
    match given.text_or("scope", "2")?.as_str() {
        "0" => Ok(Scope::Base),
        "1" => Ok(Scope::OneLevel),
        "2" => Ok(Scope::Subtree),
        _ => Err(OptionError::Wrong {
            option: "scope",
            why: "it is 0 (the base), 1 (what is directly below) or 2 (all below)".to_owned(),
        }),
    }
}

fn finder(given: &Given<'_>) -> Result<Finder, OptionError> {
    let filter = || match given.text("filter")? {
        Some(filter) => WithName::parse("filter", &filter),
        None => Err(OptionError::Missing {
            option: "filter",
            why: "it finds the user, as in uid={{ username }}",
        }),
    };
    match (given.text("binddn")?, given.text("bindpw")?) {
        (Some(dn), Some(password)) => Ok(Finder::Account {
            dn,
            password: Secret::new(password),
            filter: filter()?,
        }),
        (Some(dn), None) => {
            let with_name = WithName::parse("binddn", &dn)?;
            // One name for all would be one password for all.
            match dn.contains("username") {
                true => Ok(Finder::Known(with_name)),
                false => Err(OptionError::Missing {
                    option: "bindpw",
                    why: "auth.ldap.binddn does not depend on the user, so it needs its password",
                }),
            }
        }
        (None, None) if given.flag("anonymous") => Ok(Finder::Anybody { filter: filter()? }),
        (None, _) => Err(OptionError::Missing {
            option: "binddn",
            why: "it is who looks for users, or where users are",
        }),
    }
}

fn groups(given: &Given<'_>, basedn: &str) -> Result<Groups, OptionError> {
    if given.flag("activedirectory") {
        return Ok(Groups::ActiveDirectory);
    }
    if given.flag("freeipa") {
        let needed = |option, why| {
            let given = given.text(option)?;
            given.ok_or(OptionError::Missing { option, why })
        };
        let base = needed("group_basedn", "groups are searched for below it")?;
        let filter = needed("group_filter", "it finds groups, with freeipa")?;
        return Ok(Groups::FreeIpa {
            base,
            filter: WithName::parse("group_filter", &filter)?,
        });
    }
    // An empty one is given on purpose.
    let base = match given.get("groupou") {
        None => format!("ou=Groups,{basedn}"),
        Some(unit) if !unit.is_true() => basedn.to_owned(),
        Some(_) => format!("ou={},{basedn}", given.text_or("groupou", "")?),
    };
    Ok(Groups::Posix { base })
}

#[cfg(test)]
mod tests;
