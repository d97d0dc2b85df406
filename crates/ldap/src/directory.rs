//! Requests to a directory: a login with its groups, and computers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use halite_proto::Map;
use ldap3::{Scope, dn_escape, ldap_escape};
use tokio::runtime;
use tokio::time::timeout;

use crate::connection::{Connection, Search};
use crate::entry::Entry;
use crate::error::{LdapError, OptionError};
use crate::limits::{ASK_TIME_MAX, ENTRIES_MAX};
use crate::names::{
    are_presentable, as_filter, compared, dn_parts, first_value, is_folded, is_same_dn, minion_id,
};
use crate::options::{Finder, Groups, Options, WithName};

/// Enough to see that a name is not the only one.
const TWO: i32 = 2;

/// A directory that is configured.
#[derive(Clone)]
pub struct Directory(Arc<Options>);

impl Directory {
    /// Reads the options `auth.ldap.*`.
    ///
    /// # Errors
    /// When one is missing or wrong.
    pub fn from_options(opts: &Map) -> Result<Self, OptionError> {
        Options::read(opts).map(|options| Self(Arc::new(options)))
    }

    /// Whether the password is the user's, and the groups of the user if they
    /// are asked for; `None` if it is not, or there is no such user. Blocks, at
    /// most for [`ASK_TIME_MAX`].
    ///
    /// # Errors
    /// When the directory cannot be asked.
    pub fn log_in(
        &self,
        name: &str,
        password: &str,
        with_groups: bool,
    ) -> Result<Option<Vec<String>>, LdapError> {
        if !are_presentable(name, password) {
            return Ok(None);
        }
        let login = Login {
            options: Arc::clone(&self.0),
            name: name.to_owned(),
            password: password.to_owned().into(),
        };
        run(async move { login.run(with_groups).await })
    }

    /// The ids of the minions on the computers below an entry; none where there
    /// is no such entry. Blocks, at most for [`ASK_TIME_MAX`].
    ///
    /// # Errors
    /// When the directory cannot be asked, or no account to search with is
    /// configured.
    pub fn computers(&self, base: &str) -> Result<Vec<String>, LdapError> {
        let (options, base) = (Arc::clone(&self.0), base.to_owned());
        run(async move {
            let mut connection = as_finder(&options).await?;
            let search = Search {
                base: &base,
                scope: Scope::Subtree,
                filter: "(objectClass=computer)",
                attributes: &["cn"],
                what: "search for computers",
            };
            let found = connection.search(&search, ENTRIES_MAX).await;
            connection.close().await;
            let entries = match found {
                Ok(entries) => entries.unwrap_or_default(),
                Err(LdapError::Refused { code: 32, .. }) => Vec::new(),
                Err(error) => return Err(error),
            };
            let names = entries
                .iter()
                .filter_map(|entry| entry.values("cn").first());
            Ok(names
                .map(|name| minion_id(name, &options.strip_domains))
                .collect())
        })
    }
}

/// Runs something on threads of its own, with a limit: a directory that sends
/// nonsense ends no thread of the master's.
fn run<T: Send + 'static>(
    ask: impl Future<Output = Result<T, LdapError>> + Send + 'static,
) -> Result<T, LdapError> {
    run_for(ASK_TIME_MAX, ask)
}

fn run_for<T: Send + 'static>(
    time_max: Duration,
    ask: impl Future<Output = Result<T, LdapError>> + Send + 'static,
) -> Result<T, LdapError> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LdapError::Broken)?;
    let task = runtime.spawn(async move { timeout(time_max, ask).await });
    let done = runtime.block_on(task);
    runtime.shutdown_background();
    match done {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(LdapError::TooLate),
        Err(error) => Err(LdapError::Broken(io::Error::other(error))),
    }
}

/// A connection of whoever searches.
async fn as_finder(options: &Options) -> Result<Connection, LdapError> {
    let mut connection = Connection::open(options).await?;
    if let Finder::Account { dn, password, .. } = &options.finder
        && !connection.bind(dn, password.expose()).await?
    {
        return Err(LdapError::Refused {
            what: "log in with auth.ldap.binddn and auth.ldap.bindpw",
            code: 49,
            text: "invalid credentials".to_owned(),
        });
    }
    Ok(connection)
}

/// A login.
struct Login {
    options: Arc<Options>,
    name: String,
    password: halite_crypto::Secret<String>,
}

impl Login {
    async fn run(&self, with_groups: bool) -> Result<Option<Vec<String>>, LdapError> {
        let options = &self.options;
        let (name, finder) = match &options.finder {
            Finder::Known(known) => (Some(self.own_name(known)?), None),
            Finder::Account { filter, .. } | Finder::Anybody { filter } => {
                let mut finder = as_finder(options).await?;
                (self.find(&mut finder, filter).await?, Some(finder))
            }
        };
        let Some(name) = name else {
            close(finder).await;
            return Ok(None);
        };
        let mut own = Connection::open(options).await?;
        let is_right = own.bind(&name, self.password.expose()).await?;
        // Who was found by name is spelled as the entry says.
        let is_theirs = is_right && (finder.is_some() || self.is_spelled(&mut own, &name).await?);
        if !is_theirs {
            close([Some(own), finder].into_iter().flatten()).await;
            return Ok(None);
        }
        let mut asker = finder.unwrap_or(own);
        let groups = match with_groups {
            true => self.groups(&mut asker, &name).await,
            false => Ok(Vec::new()),
        };
        asker.close().await;
        groups.map(Some)
    }

    /// The name within `binddn`.
    fn own_name(&self, known: &WithName) -> Result<String, LdapError> {
        let name = match known.is_dn {
            true => dn_escape(self.name.as_str()),
            false => self.name.as_str().into(),
        };
        known.with(&name)
    }

    /// Whether the entry of who has bound as `name` spells the user as they do:
    /// directories ignore case and more, and `BOB` is not the `bob` whom a list
    /// of the configuration names. Where the entry does not say, only a name
    /// that can be spelled in one way is let in.
    async fn is_spelled(&self, own: &mut Connection, name: &str) -> Result<bool, LdapError> {
        let user = self.name.as_str();
        let parts = dn_parts(name);
        let part = parts
            .iter()
            .find(|part| !part.attribute.is_empty() && part.value.contains(user));
        if let Some(part) = part {
            let search = Search {
                base: name,
                scope: Scope::Base,
                filter: "(objectClass=*)",
                attributes: &[part.attribute.as_str()],
                what: "look at the user's entry",
            };
            let found = match own.search(&search, TWO).await {
                Ok(found) => found.unwrap_or_default(),
                // Whoever may not look at himself.
                Err(LdapError::Refused { .. }) => Vec::new(),
                Err(error) => return Err(error),
            };
            let values = found.first().map(|entry| entry.values(&part.attribute));
            if let Some(values) = values.filter(|values| !values.is_empty()) {
                return Ok(values.contains(&part.value));
            }
        }
        let is_folded = is_folded(user);
        if !is_folded {
            tracing::error!(
                "auth.ldap.binddn: the directory does not show how a name is spelled, so only \
                 lower-case ASCII names can log in; set auth.ldap.bindpw and auth.ldap.filter \
                 for others"
            );
        }
        Ok(is_folded)
    }

    /// The name of the user's entry, if there is exactly one, and it spells the
    /// user as they do.
    async fn find(
        &self,
        finder: &mut Connection,
        filter: &WithName,
    ) -> Result<Option<String>, LdapError> {
        let escaped = ldap_escape(self.name.as_str());
        let filter = as_filter(&filter.with(&escaped)?);
        let compared = compared(&filter, &escaped);
        let attributes: Vec<&str> = compared.iter().map(|(name, _)| name.as_str()).collect();
        if attributes.is_empty() {
            tracing::error!("auth.ldap.filter compares no attribute with {{{{ username }}}}");
            return Ok(None);
        }
        let search = Search {
            base: &self.options.basedn,
            scope: self.options.scope,
            filter: &filter,
            attributes: &attributes,
            what: "search for the user",
        };
        let is_spelled = |entry: &Entry| {
            compared
                .iter()
                .any(|(name, value)| entry.values(name).contains(value))
        };
        let found = finder.search(&search, TWO).await?;
        match found.as_deref() {
            Some([]) => Ok(None),
            Some([entry]) if entry.dn.trim().is_empty() => Err(LdapError::NoName),
            Some([entry]) if !is_spelled(entry) => {
                tracing::warn!(
                    "{}: auth.ldap.filter finds it, but {attributes:?} spell the name \
                     differently",
                    entry.dn
                );
                Ok(None)
            }
            Some([entry]) => Ok(Some(entry.dn.clone())),
            _ => {
                tracing::error!("auth.ldap.filter finds several users of one name");
                Ok(None)
            }
        }
    }

    /// The groups of the user, who has bound as `bound`: a DN, or what else a
    /// directory takes (`ali@corp`).
    async fn groups(&self, asker: &mut Connection, bound: &str) -> Result<Vec<String>, LdapError> {
        let options = &self.options;
        let account = options.account.as_str();
        let attribute = options.group_attribute.as_str();
        let escaped = ldap_escape(self.name.as_str());
        let class = &options.group_class;
        let mut groups = Vec::new();
        match &options.groups {
            Groups::ActiveDirectory => {
                let Some(dn) = self.dn(asker, bound).await? else {
                    return Ok(groups);
                };
                let dn = ldap_escape(dn.as_str());
                let filter = format!("(&(member={dn})(objectClass={class}))");
                let found = self
                    .entries(asker, &options.basedn, &filter, &["cn"])
                    .await?;
                groups.extend(
                    found
                        .iter()
                        .filter_map(|entry| entry.values("cn").first().cloned()),
                );
            }
            Groups::FreeIpa { base, filter } => {
                let filter = as_filter(&filter.with(&escaped)?);
                let wanted = [account, attribute, "cn"];
                for entry in self.entries(asker, base, &filter, &wanted).await? {
                    let members = entry.values(account).iter().chain(entry.values(attribute));
                    // The group of another unit may be called as the user.
                    let is_user =
                        |member: &String| *member == self.name || is_same_dn(member, bound);
                    if members.into_iter().any(is_user) {
                        groups.push(first_value(&entry.dn));
                    }
                }
            }
            Groups::Posix { base } => {
                let filter = format!("(&({account}={escaped})(objectClass={class}))");
                let wanted = [account, "cn", attribute];
                for entry in self.entries(asker, base, &filter, &wanted).await? {
                    if entry.values(account).contains(&self.name) {
                        groups.extend(entry.values("cn").first().cloned());
                    }
                    // The entry may be the user's own, and list groups.
                    let is_own = match is_dn(bound) {
                        true => is_same_dn(&entry.dn, bound),
                        false => first_value(&entry.dn) == self.name,
                    };
                    if is_own {
                        let listed = entry.values(attribute).iter();
                        groups.extend(listed.map(|group| first_value(group)));
                    }
                }
            }
        }
        Ok(groups)
    }

    /// The DN of who has bound as `bound`.
    async fn dn(&self, asker: &mut Connection, bound: &str) -> Result<Option<String>, LdapError> {
        if is_dn(bound) {
            return Ok(Some(bound.to_owned()));
        }
        let options = &self.options;
        let filter = format!(
            "(&({}={})(objectClass={}))",
            options.account,
            ldap_escape(self.name.as_str()),
            options.person_type
        );
        let users = self.entries(asker, &options.basedn, &filter, &["cn"]);
        match users.await?.as_slice() {
            [user] => Ok(Some(user.dn.clone())),
            _ => Ok(None),
        }
    }

    async fn entries(
        &self,
        asker: &mut Connection,
        base: &str,
        filter: &str,
        attributes: &[&str],
    ) -> Result<Vec<Entry>, LdapError> {
        let search = Search {
            base,
            scope: Scope::Subtree,
            filter,
            attributes,
            what: "search for groups",
        };
        Ok(asker
            .search(&search, ENTRIES_MAX)
            .await?
            .unwrap_or_default())
    }
}

/// Whether it is a DN, not `ali@corp`.
fn is_dn(bound: &str) -> bool {
    dn_parts(bound)
        .first()
        .is_some_and(|part| !part.attribute.is_empty())
}

async fn close(connections: impl IntoIterator<Item = Connection>) {
    for connection in connections {
        connection.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_and_panics_are_errors() {
        let silence = run_for(Duration::ZERO, std::future::pending::<Result<(), _>>());
        assert!(matches!(silence, Err(LdapError::TooLate)));
        let panic = run(async { Vec::<Result<(), LdapError>>::new().remove(0) });
        assert!(matches!(panic, Err(LdapError::Broken(_))));
    }
}
