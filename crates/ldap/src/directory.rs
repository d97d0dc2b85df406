//! The questions to a directory: a login with its groups, and computers.

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
use crate::names::{are_presentable, as_filter, first_value, minion_id};
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
        let (dn, finder) = match &options.finder {
            Finder::Known(known) => (Some(self.own_dn(known)?), None),
            Finder::Account { filter, .. } | Finder::Anybody { filter } => {
                let mut finder = as_finder(options).await?;
                (self.find(&mut finder, filter).await?, Some(finder))
            }
        };
        let Some(dn) = dn else {
            close(finder).await;
            return Ok(None);
        };
        let mut own = Connection::open(options).await?;
        if !own.bind(&dn, self.password.expose()).await? {
            close([Some(own), finder].into_iter().flatten()).await;
            return Ok(None);
        }
        let mut asker = finder.unwrap_or(own);
        let groups = match with_groups {
            true => self.groups(&mut asker).await,
            false => Ok(Vec::new()),
        };
        asker.close().await;
        groups.map(Some)
    }

    /// The name within `binddn`.
    fn own_dn(&self, known: &WithName) -> Result<String, LdapError> {
        let name = match known.is_dn {
            true => dn_escape(self.name.as_str()),
            false => self.name.as_str().into(),
        };
        known.with(&name)
    }

    /// The name of the user's entry, if there is exactly one.
    async fn find(
        &self,
        finder: &mut Connection,
        filter: &WithName,
    ) -> Result<Option<String>, LdapError> {
        let filter = as_filter(&filter.with(&ldap_escape(self.name.as_str()))?);
        let search = Search {
            base: &self.options.basedn,
            scope: self.options.scope,
            filter: &filter,
            attributes: &["1.1"],
            what: "search for the user",
        };
        let found = finder.search(&search, TWO).await?;
        match found.as_deref() {
            Some([]) => Ok(None),
            Some([entry]) if entry.dn.trim().is_empty() => Err(LdapError::NoName),
            Some([entry]) => Ok(Some(entry.dn.clone())),
            _ => {
                tracing::error!("auth.ldap.filter finds several users of one name");
                Ok(None)
            }
        }
    }

    /// The groups of the user.
    async fn groups(&self, asker: &mut Connection) -> Result<Vec<String>, LdapError> {
        let options = &self.options;
        let account = options.account.as_str();
        let attribute = options.group_attribute.as_str();
        let escaped = ldap_escape(self.name.as_str());
        let class = &options.group_class;
        let mut groups = Vec::new();
        match &options.groups {
            Groups::ActiveDirectory => {
                let filter = format!(
                    "(&({account}={escaped})(objectClass={}))",
                    options.person_type
                );
                let users = self
                    .entries(asker, &options.basedn, &filter, &["cn"])
                    .await?;
                let Some(user) = users.first() else {
                    return Ok(groups);
                };
                let dn = ldap_escape(user.dn.as_str());
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
                    if members
                        .into_iter()
                        .any(|member| first_value(member) == self.name)
                    {
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
                    if first_value(&entry.dn) == self.name {
                        let listed = entry.values(attribute).iter();
                        groups.extend(listed.map(|group| first_value(group)));
                    }
                }
            }
        }
        Ok(groups)
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
