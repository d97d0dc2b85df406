//! What a package manager can do.
//!
//! Invariant: providers keep nothing between calls; they read the state of the
//! machine each time.

use std::cmp::Ordering;

use halite_call::Call;
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::targets::PackageRequest;

/// Which packages a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Those that are installed, and those installed that wait to be purged.
    Installed,
    /// Those that are removed, their configuration not.
    Removed,
    /// Those installed that wait to be purged.
    PurgeDesired,
}

/// A package manager.
pub(crate) trait Provider: Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// The versions of each package.
    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError>;

    /// The name without an architecture that goes without saying.
    fn normalize(&self, _call: &Call<'_>, name: &str) -> String {
        name.to_owned()
    }

    /// The order of two versions.
    fn compare(&self, a: &str, b: &str) -> Ordering;

    /// Reads the lists of the repositories again.
    fn refresh(&self, call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError>;

    /// The newest version of each, empty where nothing newer is there (or
    /// always, with `show_installed`).
    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError>;

    /// Installs; the changes.
    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError>;

    /// Removes, with the configuration if `purge`; the changes.
    fn remove(&self, call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError>;

    /// What can be upgraded, and to which version.
    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError>;

    /// Upgrades everything; the changes.
    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError>;

    /// What an upgrade would do, in the tool's words, if `kwargs` ask for that;
    /// `None` where they do not.
    fn upgrade_is_tried(&self, _: &Call<'_>, _: &Map) -> Result<Option<Value>, PkgError> {
        Ok(None)
    }

    /// The versions that repositories offer.
    fn available(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError>;

    /// The packages that are held.
    fn held(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError>;

    /// Holds or frees packages; a result for each.
    fn hold(&self, call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError>;

    /// Removes what nothing needs; with `list_only`, the list of it.
    fn autoremove(&self, call: &Call<'_>, list_only: bool, purge: bool) -> Result<Value, PkgError>;

    /// The package that a file belongs to, empty if none.
    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError>;

    /// The files of packages by package.
    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError>;

    /// The name and version inside a package file.
    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError>;

    /// What is known of installed packages.
    fn info(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError>;

    /// The installed packages with attributes of each version; `None` where
    /// that is not known.
    fn list_attributes(
        &self,
        _call: &Call<'_>,
        _attributes: &[String],
    ) -> Result<Option<Map>, PkgError> {
        Ok(None)
    }

    /// The held packages as they are shown: with versions, where the tool has
    /// them.
    fn held_in_full(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        self.held(call)
    }

    /// The versions that repositories offer, by repository; `None` where that
    /// cannot be told.
    fn by_repository(
        &self,
        _call: &Call<'_>,
        _names: &[String],
        _kwargs: &Map,
    ) -> Result<Option<Map>, PkgError> {
        Ok(None)
    }

    /// Those of `names` that neither repositories know nor anything provides,
    /// with similar names; `None` where that cannot be told.
    fn unknown(&self, _call: &Call<'_>, _names: &PackageRequest, _kwargs: &Map) -> Option<Unknown> {
        None
    }

    /// Takes back that packages wait to be purged; the changes.
    fn unpurge(&self, _call: &Call<'_>, _names: &[String]) -> Option<Result<Map, PkgError>> {
        None
    }
}

/// A package file's own name and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileInfo {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) arch: String,
}

/// The files of packages, and complaints about packages that are not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) errors: Vec<String>,
    pub(crate) packages: Vec<(String, Vec<String>)>,
}

/// Names that nothing is known of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unknown {
    pub(crate) suggestions: Vec<(String, Vec<String>)>,
    pub(crate) none: Vec<String>,
}
