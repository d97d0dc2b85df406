//! SUSE's package manager: `zypper`.

mod change;
mod download;
mod lists;
mod locks;
mod query;
pub(super) mod repos;
mod xml;

use std::cmp::Ordering;

use halite_call::host::{Program, Ran};
use halite_call::{Call, python};
use halite_proto::{Map, Value};
use xml::Element;

use super::error::PkgError;
use super::lists::{offered_by_repository, offered_versions};
use super::provider::{FileInfo, Files, Listing, Provider};
use super::{rpm, version};

pub(super) use download::{download, list_downloaded};
pub(super) use lists::{list_patches, list_patterns, list_products, list_provides};
pub(super) use lists::{resolve_capabilities, search};
pub(super) use locks::{clean_locks, list_locks};
pub(super) use query::info_available;

/// SUSE's.
pub(crate) struct Zypper;

/// Return codes that are no failure: done, updates there, a restart is due.
const FINE: &[i64] = &[0, 100, 101, 102, 103];

/// Return codes that are warnings: no repositories, the lock, some of the
/// repositories skipped, a script of a package failed.
const WARNINGS: &[i64] = &[6, 106, 107];

/// Words before the verb.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    xml: bool,
    no_refresh: bool,
    no_gpg_checks: bool,
    import_keys: bool,
}

fn start(call: &Call<'_>, before: Before) -> Vec<String> {
    let mut line = vec!["zypper".to_owned(), "--non-interactive".to_owned()];
    let mut add = |wanted: bool, option: &str| {
        if wanted {
            line.push(option.to_owned());
        }
    };
    add(before.xml, "--xmlout");
    add(before.no_refresh, "--no-refresh");
    add(before.no_gpg_checks, "--no-gpg-checks");
    add(before.import_keys, "--gpg-auto-import-keys");
    if let Some(root) = call.get("root").filter(|root| root.is_true()) {
        line.extend(["--root".to_owned(), python::str(root)]);
    }
    line
}

/// Runs zypper; what it says when it fails is an error.
fn run(call: &Call<'_>, before: Before, words: &[String]) -> Result<Ran, PkgError> {
    let mut line: Vec<String> = Vec::new();
    if !before.xml {
        line.extend(crate::scope(call).iter().map(|word| (*word).to_owned()));
    }
    line.extend(start(call, before));
    line.extend(words.iter().cloned());
    // Its words depend on the language.
    let ran = Program::new(call, &line)
        .env("LC_ALL", "C")
        .may_fail()
        .run()?;
    if FINE.contains(&ran.code) || WARNINGS.contains(&ran.code) {
        return Ok(ran);
    }
    let said = if before.xml {
        let errors: Vec<String> = xml::elements(&ran.stdout)
            .into_iter()
            .filter(|element| element.name == "message" && element.get("type") == Some("error"))
            .map(|element| element.text)
            .collect();
        errors.join("\n")
    } else {
        format!("{}{}", ran.stderr, ran.stdout)
    };
    let said = if said.is_empty() {
        "Check Zypper's logs.".to_owned()
    } else {
        said
    };
    Err(PkgError::command(format!("Zypper command failure: {said}")))
}

/// Runs zypper for its XML.
fn ask(call: &Call<'_>, words: &[&str], more: &[String]) -> Result<Vec<Element>, PkgError> {
    let before = Before {
        xml: true,
        no_refresh: true,
        ..Before::default()
    };
    let mut line = crate::words(words);
    line.extend(more.iter().cloned());
    Ok(xml::elements(&run(call, before, &line)?.stdout))
}

impl Provider for Zypper {
    fn name(&self) -> &'static str {
        "zypper"
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        if listing == Listing::Installed {
            rpm::installed(call)
        } else {
            Ok(Map::new())
        }
    }

    fn list_attributes(
        &self,
        call: &Call<'_>,
        attributes: &[String],
    ) -> Result<Option<Map>, PkgError> {
        rpm::with_attributes(call, attributes).map(Some)
    }

    fn normalize(&self, call: &Call<'_>, name: &str) -> String {
        rpm::normalize(call, name)
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::rpm(a, b)
    }

    fn refresh(&self, call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
        query::refresh(call, kwargs)
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        query::latest(call, names, show_installed, kwargs)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        change::install(self, call, kwargs)
    }

    fn remove(&self, call: &Call<'_>, _: bool, kwargs: &Map) -> Result<Map, PkgError> {
        change::remove(self, call, kwargs)
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        query::upgrades(call, kwargs)
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        change::upgrade(call, kwargs)
    }

    fn upgrade_is_tried(&self, call: &Call<'_>, kwargs: &Map) -> Result<Option<Value>, PkgError> {
        change::dry_run(call, kwargs)
    }

    fn available(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        query::offered(call, names, kwargs).map(offered_versions)
    }

    fn by_repository(
        &self,
        call: &Call<'_>,
        names: &[String],
        kwargs: &Map,
    ) -> Result<Option<Map>, PkgError> {
        let offered = query::offered(call, names, kwargs)?;
        Ok(Some(offered_by_repository(offered)))
    }

    fn held(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        Ok(locks::held(call))
    }

    fn held_in_full(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        locks::held_in_full(call)
    }

    fn hold(&self, call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
        locks::hold(call, hold, names)
    }

    fn autoremove(&self, call: &Call<'_>, list_only: bool, _: bool) -> Result<Value, PkgError> {
        change::autoremove(call, list_only)
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        rpm::owner(call, path)
    }

    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
        rpm::files(call, names)
    }

    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        rpm::file_info(call, path)
    }

    fn info(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        rpm::info_installed(call, names, kwargs)
    }
}
