//! Repositories, whichever tool they are of.

use halite_call::{Call, CallError, python};
use halite_proto::{Map, Value};

use super::apt::repos as apt;
use super::dnf::repos as dnf;
use super::error::PkgError;
use super::this_machine::provider;
use super::zypper::repos as zypper;

/// Whose repositories they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repositories {
    /// Lines and sections of apt's sources.
    Apt,
    /// Files of dnf.
    Dnf,
    /// Files of zypper, which it changes itself.
    Zypper,
}

impl Repositories {
    /// Those of this machine.
    ///
    /// # Errors
    /// When its package manager has none that can be managed.
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, CallError> {
        match provider(call)?.name() {
            "apt" => Ok(Self::Apt),
            "dnf" => Ok(Self::Dnf),
            "zypper" => Ok(Self::Zypper),
            _ => Err(CallError::command(
                "Repo management not implemented on this platform",
            )),
        }
    }

    pub(crate) fn list(self, call: &Call<'_>) -> Map {
        match self {
            Self::Apt => apt::list_repos(call),
            Self::Dnf => dnf::list_repos(call, call.get("basedir")),
            Self::Zypper => zypper::list_repos(call),
        }
    }

    /// What is known of one; empty if it is not set up.
    pub(crate) fn get(self, call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<Map, PkgError> {
        match self {
            Self::Apt => {
                let auth = kwargs.get("ppa_auth").filter(|auth| !auth.is_nil());
                apt::get_repo(call, repo, auth.map(python::str).as_deref())
            }
            Self::Dnf => Ok(dnf::get_repo(call, repo, kwargs.get("basedir"))),
            Self::Zypper => Ok(zypper::get_repo(call, repo)),
        }
    }

    /// Sets one up, or changes it.
    pub(crate) fn modify(self, call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<Map, PkgError> {
        match self {
            Self::Apt => apt::mod_repo(call, repo, kwargs),
            Self::Dnf => dnf::mod_repo(call, repo, kwargs),
            Self::Zypper => zypper::mod_repo(call, repo, kwargs),
        }
    }

    /// Deletes one; what Salt returns for it.
    pub(crate) fn delete(
        self,
        call: &Call<'_>,
        repo: &str,
        kwargs: &Map,
    ) -> Result<Value, PkgError> {
        match self {
            Self::Apt => apt::del_repo(call, repo, kwargs).map(Value::from),
            Self::Dnf => dnf::del_repo(call, repo, kwargs.get("basedir")).map(Value::from),
            Self::Zypper => zypper::del_repo(call, repo).map(Value::from),
        }
    }
}
