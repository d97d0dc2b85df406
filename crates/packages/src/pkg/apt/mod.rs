//! Debian's package tools: `dpkg` and `apt-get`.

mod database;
mod install;
pub(crate) mod keys;
pub(crate) mod known_keys;
mod plan;
mod policy;
mod query;
mod refresh;
mod remove;
pub(crate) mod repos;
pub(crate) mod restarts;
mod selections;
pub(crate) mod source_list;
pub(crate) mod sources;
mod tool;

use std::cmp::Ordering;

use halite_call::Call;
use halite_proto::{Map, Value};

use super::error::PkgError;
use super::provider::{FileInfo, Files, Listing, Provider};
use super::{lists, version};

pub(crate) use query::{info_plain, list_plain, show};
use refresh::{refresh, refresh_unless_valid};
pub(crate) use selections::{
    get as get_selections, parse as parse_selections, set as set_selections,
};
use tool::{Tool, run};

/// `apt-get` and `dpkg`.
pub(crate) struct Apt;

impl Provider for Apt {
    fn name(&self) -> &'static str {
        "apt"
    }

    fn list(&self, call: &Call<'_>, listing: Listing) -> Result<Map, PkgError> {
        let all = database::all(call)?;
        let part = |name: &str| {
            all.get(name)
                .and_then(Value::as_map)
                .cloned()
                .unwrap_or_default()
        };
        Ok(match listing {
            Listing::Removed => part("removed"),
            Listing::PurgeDesired => part("purge_desired"),
            Listing::Installed => {
                let mut list = part("purge_desired");
                list.extend(part("installed"));
                list
            }
        })
    }

    fn normalize(&self, call: &Call<'_>, name: &str) -> String {
        let grains = call.ctx.grains();
        let own = grains.get("osarch").and_then(Value::as_str);
        match name.rsplit_once(':') {
            Some((short, arch)) if Some(arch) == own || arch == "all" || arch == "any" => {
                short.to_owned()
            }
            _ => name.to_owned(),
        }
    }

    fn compare(&self, a: &str, b: &str) -> Ordering {
        version::debian(a, b)
    }

    fn refresh(&self, call: &Call<'_>, kwargs: &Map) -> Result<Value, PkgError> {
        refresh(call, kwargs)
    }

    fn latest(
        &self,
        call: &Call<'_>,
        names: &[String],
        show_installed: bool,
        kwargs: &Map,
    ) -> Result<Map, PkgError> {
        policy::latest(call, names, show_installed, kwargs)
    }

    fn install(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        install::install(call, kwargs)
    }

    fn remove(&self, call: &Call<'_>, purge: bool, kwargs: &Map) -> Result<Map, PkgError> {
        remove::remove(call, purge, kwargs)
    }

    fn upgrades(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        policy::upgrades(call, kwargs)
    }

    fn upgrade(&self, call: &Call<'_>, kwargs: &Map) -> Result<Map, PkgError> {
        install::upgrade(call, kwargs)
    }

    fn available(&self, call: &Call<'_>, names: &[String], _: &Map) -> Result<Map, PkgError> {
        policy::available(call, names)
    }

    fn held(&self, call: &Call<'_>) -> Result<Vec<String>, PkgError> {
        let selections = selections::get(call, None)?;
        Ok(lists::versions(&selections, "hold"))
    }

    fn hold(&self, call: &Call<'_>, hold: bool, names: &[String]) -> Result<Map, PkgError> {
        selections::hold(call, hold, names)
    }

    fn autoremove(&self, call: &Call<'_>, list: bool, purge: bool) -> Result<Value, PkgError> {
        remove::autoremove(call, list, purge)
    }

    fn owner(&self, call: &Call<'_>, path: &str) -> Result<String, PkgError> {
        query::owner(call, path)
    }

    fn files(&self, call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
        query::files(call, names)
    }

    fn file_info(&self, call: &Call<'_>, path: &str) -> Result<Option<FileInfo>, PkgError> {
        query::file_info(call, path).map(Some)
    }

    fn info(&self, call: &Call<'_>, names: &[String], kwargs: &Map) -> Result<Map, PkgError> {
        let failhard = kwargs.get("failhard").is_none_or(Value::is_true);
        query::info(call, names, failhard)
    }

    fn unpurge(&self, call: &Call<'_>, names: &[String]) -> Option<Result<Map, PkgError>> {
        Some(selections::unpurge(call, names))
    }
}
