//! Deleting repositories.
use halite_call::{Call, host, os_error, paths, python};
use halite_proto::Map;

use super::ppa::of_ppa;
use crate::pkg::apt::refresh;
use crate::pkg::apt::source_list::{MAIN_FILE, SourceList};
use crate::pkg::apt::sources::{Line, Source};
use crate::pkg::error::PkgError;

/// Puts all entries into the main file, equal ones together.
pub(super) fn consolidate(call: &Call<'_>, sources: &mut SourceList) -> Result<(), PkgError> {
    let mut kept: Vec<Source> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    for source in sources.list.drain(..).filter(|source| !source.is_invalid()) {
        if source.file != MAIN_FILE && !files.contains(&source.file) {
            files.push(source.file.clone());
        }
        let same = kept.iter_mut().find(|known| {
            known.architectures() == source.architectures()
                && known.is_disabled() == source.is_disabled()
                && known.types() == source.types()
                && known.uris() == source.uris()
                && known.suites() == source.suites()
        });
        match same {
            Some(known) => {
                let mut comps = known.comps();
                comps.extend(source.comps());
                comps.dedup();
                known.set_many("Components", &comps);
            }
            None => kept.push(Source {
                file: MAIN_FILE.to_owned(),
                ..source
            }),
        }
    }
    sources.list = kept;
    sources.save(call)?;
    for file in files {
        let _ = paths::remove_file(call.host().path(file));
    }
    Ok(())
}

/// Deletes a repository; says where it was.
pub(crate) fn del_repo(call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<String, PkgError> {
    let auth = kwargs.get("ppa_auth").map(python::str);
    let line = of_ppa(call, repo, auth.as_deref());
    let is_ppa = line != repo;
    let missing = || PkgError::command(format!("Repo {repo} doesn't exist in the sources.list(s)"));
    let mut sources = SourceList::load(call);
    if sources.list.iter().all(Source::is_invalid) {
        return Err(missing());
    }
    let wanted = Line::parse(&line)?;
    let place = |uri: &str| uri.trim_end_matches('/').to_owned();
    let mut files: Vec<String> = Vec::new();
    let mut kept = Vec::new();
    for mut source in std::mem::take(&mut sources.list) {
        let same_place = source
            .uris()
            .iter()
            .any(|uri| place(uri) == place(&wanted.uri))
            && source.suites().contains(&wanted.dist);
        let same = source.types().contains(&wanted.kind)
            && source.architectures() == wanted.architectures
            && same_place;
        let its_sources = is_ppa
            && wanted.kind == "deb"
            && source.types().iter().any(|kind| kind == "deb-src")
            && same_place;
        if source.is_invalid() || !(same || its_sources) {
            kept.push(source);
            continue;
        }
        let mut own = source.comps();
        let equal = own.iter().all(|comp| wanted.comps.contains(comp))
            && wanted.comps.iter().all(|comp| own.contains(comp));
        let shared = own.iter().any(|comp| wanted.comps.contains(comp));
        if !equal && !shared {
            kept.push(source);
            continue;
        }
        if !files.contains(&source.file) {
            files.push(source.file.clone());
        }
        if equal {
            let mut suites = source.suites();
            suites.retain(|suite| *suite != wanted.dist);
            if !suites.is_empty() {
                source.set_many("Suites", &suites);
                kept.push(source);
            }
        } else {
            own.retain(|comp| !wanted.comps.contains(comp));
            source.set_many("Components", &own);
            kept.push(source);
        }
    }
    if files.is_empty() {
        return Err(missing());
    }
    sources.list = kept;
    let mut said = String::new();
    for file in &files {
        let rest = sources
            .list
            .iter()
            .filter(|source| !source.is_invalid() && source.file == *file);
        let path = call.host().path(file);
        if rest.count() == 0 && file.contains("sources.list.d/") && path.is_file() {
            sources.list.retain(|source| source.file != *file);
            paths::remove_file(&path).map_err(|error| PkgError::from(os_error(&error, &path)))?;
            said.push_str(&format!(
                "File {file} containing repo '{repo}' has been removed."
            ));
        } else {
            said.push_str(&format!("Repo '{repo}' has been removed from {file}.\n"));
            if sources.list.iter().all(|source| source.file != *file) {
                // Its last line is gone.
                host::replace_file(&path, b"")
                    .map_err(|error| PkgError::from(os_error(&error, &path)))?;
            }
        }
    }
    sources.save(call)?;
    refresh(call, &Map::new())?;
    Ok(said)
}
