//! Package files that dnf has fetched.

use std::fs;

use halite_call::host::Program;
use halite_call::{Call, CallError, os_error, paths};
use halite_proto::{Map, Value};

use super::{Dnf, options, tool};
use crate::pkg::downloaded;
use crate::pkg::error::PkgError;
use crate::pkg::rpm;
use crate::words;

/// Where `pkg.download` puts files.
const DIRECTORY: &str = "/var/cache/yum/packages";

/// The function `pkg.download`.
pub(in crate::pkg) fn download(
    call: &Call<'_>,
    names: &[String],
    kwargs: &Map,
) -> Result<Map, PkgError> {
    if names.is_empty() {
        return Err(PkgError::invocation("No packages specified"));
    }
    let host = call.host();
    if !host.has("yumdownloader") {
        return Err(CallError::NotFound("'yumdownloader' command not available".to_owned()).into());
    }
    let failed = |error: std::io::Error| PkgError::from(os_error(&error, DIRECTORY));
    let directory = host.path(DIRECTORY);
    paths::create_dir_all(&directory).map_err(failed)?;
    let files = || -> Result<Vec<String>, PkgError> {
        let entries = fs::read_dir(&directory).map_err(failed)?.flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".rpm")).collect();
        names.sort();
        Ok(names)
    };
    let is_of = |file: &str, name: &str| {
        let rest = file
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    // What was fetched before is not what is there now.
    for file in files()? {
        if names.iter().any(|name| is_of(&file, name)) {
            paths::remove_file(directory.join(&file)).map_err(failed)?;
        }
    }
    let mut line = words(&["yumdownloader", "-q"]);
    line.extend(options(kwargs));
    line.push(format!("--destdir={}", directory.display()));
    line.extend(names.iter().cloned());
    Program::new(call, &line).may_fail().run()?;
    let mut all = Map::new();
    for file in files()? {
        if let Some(name) = names.iter().find(|name| is_of(&file, name)) {
            all.insert(name.as_str(), format!("{DIRECTORY}/{file}"));
        }
    }
    downloaded::with_missing(
        all,
        names,
        "Unable to download any of the following packages",
    )
}

/// The function `pkg.list_downloaded`.
pub(in crate::pkg) fn list_downloaded(call: &Call<'_>) -> Result<Map, PkgError> {
    downloaded::list(call, &Dnf, &format!("/var/cache/{}", tool(call)), ".rpm")
}

/// What differs between files and the package that they are from.
pub(in crate::pkg) fn diff(call: &Call<'_>, paths: &[String]) -> Result<Map, PkgError> {
    let mut owners: Vec<(String, Vec<&String>)> = Vec::new();
    let mut found = Map::new();
    for path in paths {
        let owner = rpm::owner(call, path)?;
        if owner.is_empty() {
            found.insert(path.as_str(), "Not managed");
            continue;
        }
        match owners.iter_mut().find(|(known, _)| *known == owner) {
            Some((_, paths)) => paths.push(path),
            None => owners.push((owner, vec![path])),
        }
    }
    for (owner, paths) in owners {
        let fetched = call.salt("pkg.download", &[Value::from(owner.as_str())], Map::new())?;
        let file = match fetched.get(&owner) {
            Some(Value::Map(about)) => about.get("path").cloned(),
            other => other.cloned(),
        };
        for path in paths {
            let text = match &file {
                Some(file) => rpm::diff(call, &halite_call::python::str(file), path)?,
                None => None,
            };
            found.insert(
                path.as_str(),
                text.unwrap_or_else(|| "Unchanged".to_owned()),
            );
        }
    }
    Ok(found)
}
