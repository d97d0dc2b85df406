//! One connection to a directory.

use ldap3::{
    Ldap, LdapConnAsync, LdapConnSettings, LdapResult, Scope, SearchOptions, SearchResult,
};

use crate::entry::Entry;
use crate::error::LdapError;
use crate::limits::{CONNECT_TIME_MAX, ENTRIES_MAX};
use crate::options::Options;

/// Result codes of the protocol.
const SUCCESS: u32 = 0;
const SIZE_LIMIT: u32 = 4;
const NO_SUCH_OBJECT: u32 = 32;
const INAPPROPRIATE: u32 = 48;
const INVALID_CREDENTIALS: u32 = 49;

/// A connection.
pub(crate) struct Connection(Ldap);

/// What is searched for.
pub(crate) struct Search<'s> {
    pub(crate) base: &'s str,
    pub(crate) scope: Scope,
    pub(crate) filter: &'s str,
    pub(crate) attributes: &'s [&'s str],
    pub(crate) what: &'static str,
}

impl Connection {
    /// Connects to the first server that can be reached.
    pub(crate) async fn open(options: &Options) -> Result<Self, LdapError> {
        let mut failed = LdapError::NoName;
        for uri in &options.uris {
            let settings = LdapConnSettings::new()
                .set_conn_timeout(CONNECT_TIME_MAX)
                .set_starttls(options.starttls)
                .set_no_tls_verify(options.no_verify);
            match LdapConnAsync::with_settings(settings, uri).await {
                Ok((driver, ldap)) => {
                    tokio::spawn(async move {
                        if let Err(error) = driver.drive().await {
                            tracing::debug!("a connection to the directory ended: {error}");
                        }
                    });
                    return Ok(Self(ldap));
                }
                Err(source) => {
                    failed = LdapError::Connect {
                        uri: uri.clone(),
                        source: Box::new(source),
                    };
                }
            }
        }
        Err(failed)
    }

    /// Shows a name and a password; false if they do not belong together.
    pub(crate) async fn bind(&mut self, dn: &str, password: &str) -> Result<bool, LdapError> {
        if dn.trim().is_empty() || password.is_empty() {
            return Err(LdapError::NoName);
        }
        let what = "show a password";
        let result = self.0.simple_bind(dn, password).await;
        let result = result.map_err(|source| ask(what, source))?;
        match result.rc {
            SUCCESS => Ok(true),
            INVALID_CREDENTIALS | NO_SUCH_OBJECT | INAPPROPRIATE => Ok(false),
            _ => Err(refused(what, result)),
        }
    }

    /// What a search finds; `None` where there is more than `entries_max`.
    pub(crate) async fn search(
        &mut self,
        search: &Search<'_>,
        entries_max: i32,
    ) -> Result<Option<Vec<Entry>>, LdapError> {
        let limit = SearchOptions::new().sizelimit(entries_max.min(ENTRIES_MAX));
        let found = self
            .0
            .with_search_options(limit)
            .search(search.base, search.scope, search.filter, search.attributes)
            .await;
        let SearchResult(answers, result) = found.map_err(|source| ask(search.what, source))?;
        match result.rc {
            SUCCESS => Ok(Some(answers.into_iter().filter_map(Entry::read).collect())),
            SIZE_LIMIT => Ok(None),
            _ => Err(refused(search.what, result)),
        }
    }

    /// Says good-bye.
    pub(crate) async fn close(mut self) {
        // It ends with the program that asks in any case.
        let _ = self.0.unbind().await;
    }
}

fn ask(what: &'static str, source: ldap3::LdapError) -> LdapError {
    LdapError::Ask {
        what,
        source: Box::new(source),
    }
}

fn refused(what: &'static str, result: LdapResult) -> LdapError {
    LdapError::Refused {
        what,
        code: result.rc,
        text: result.text,
    }
}
