//! Package files that zypper has fetched.

use halite_call::{Call, host};
use halite_proto::Map;

use super::query::refresh;
use super::{Before, Zypper, run, xml};
use crate::pkg::downloaded;
use crate::pkg::error::PkgError;
use crate::words;

const CACHE: &str = "/var/cache/zypp/packages";

/// The function `pkg.download`.
pub(in crate::pkg) fn download(call: &Call<'_>, names: &[String]) -> Result<Map, PkgError> {
    if names.is_empty() {
        return Err(PkgError::invocation("No packages specified"));
    }
    if call.get("refresh").is_some_and(host::is_true) {
        refresh(call, &Map::new())?;
    }
    let before = Before {
        xml: true,
        ..Before::default()
    };
    let mut line = words(&["download"]);
    line.extend(names.iter().cloned());
    let mut all = Map::new();
    let (mut name, mut about) = (String::new(), Map::new());
    for element in xml::elements(&run(call, before, &line)?.stdout) {
        match element.name.as_str() {
            "name" => name = element.text,
            "repository" => {
                about.insert("repository-name", element.text_of("name"));
                about.insert("repository-alias", element.text_of("alias"));
            }
            "localfile" => {
                about.insert("path", element.text_of("path"));
                all.insert(std::mem::take(&mut name), std::mem::take(&mut about));
            }
            _ => {}
        }
    }
    downloaded::with_missing(all, names, "Unable to download packages")
}

/// The function `pkg.list_downloaded`.
pub(in crate::pkg) fn list_downloaded(call: &Call<'_>) -> Result<Map, PkgError> {
    downloaded::list(call, &Zypper, CACHE, ".rpm")
}
