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

/// A repository to delete.
struct Wanted {
    line: Line,
    is_ppa: bool,
}

impl Wanted {
    /// Whether an entry has this repository, or its sources if it is a PPA.
    fn is_in(&self, source: &Source) -> bool {
        let place = |uri: &str| uri.trim_end_matches('/').to_owned();
        let wanted = place(&self.line.uri);
        let same_place = source.uris().iter().any(|uri| place(uri) == wanted)
            && source.suites().contains(&self.line.dist);
        let same = source.types().contains(&self.line.kind)
            && source.architectures() == self.line.architectures;
        let has_sources = self.is_ppa
            && self.line.kind == "deb"
            && source.types().iter().any(|kind| kind == "deb-src");
        !source.is_invalid() && same_place && (same || has_sources)
    }

    /// Takes the repository out of an entry; returns whether it was there. What is left
    /// of the entry goes to `kept`.
    fn take_out(&self, mut source: Source, kept: &mut Vec<Source>) -> bool {
        let (mut own, wanted) = (source.comps(), &self.line.comps);
        if !self.is_in(&source) {
            kept.push(source);
            return false;
        }
        let equal = own.iter().all(|comp| wanted.contains(comp))
            && wanted.iter().all(|comp| own.contains(comp));
        if equal {
            let mut suites = source.suites();
            suites.retain(|suite| *suite != self.line.dist);
            if !suites.is_empty() {
                source.set_many("Suites", &suites);
                kept.push(source);
            }
            return true;
        }
        let shared = own.iter().any(|comp| wanted.contains(comp));
        if shared {
            own.retain(|comp| !wanted.contains(comp));
            source.set_many("Components", &own);
        }
        kept.push(source);
        shared
    }
}

/// Deletes a repository; says where it was.
pub(crate) fn del_repo(call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<String, PkgError> {
    let auth = kwargs.get("ppa_auth").map(python::str);
    let line = of_ppa(call, repo, auth.as_deref());
    let missing = || PkgError::command(format!("Repo {repo} doesn't exist in the sources.list(s)"));
    let mut sources = SourceList::load(call);
    if sources.list.iter().all(Source::is_invalid) {
        return Err(missing());
    }
    let wanted = Wanted {
        is_ppa: line != repo,
        line: Line::parse(&line)?,
    };
    let mut files: Vec<String> = Vec::new();
    let mut kept = Vec::new();
    for source in std::mem::take(&mut sources.list) {
        let file = source.file.clone();
        if wanted.take_out(source, &mut kept) && !files.contains(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(missing());
    }
    sources.list = kept;
    let mut said = String::new();
    for file in &files {
        said.push_str(&clear_file(call, &mut sources, file, repo)?);
    }
    sources.save(call)?;
    refresh(call, &Map::new())?;
    Ok(said)
}

/// Removes a file of `sources.list.d` without any entries left, or empties the main one;
/// says where the repository was.
fn clear_file(
    call: &Call<'_>,
    sources: &mut SourceList,
    file: &str,
    repo: &str,
) -> Result<String, PkgError> {
    let is_of = |source: &&Source| source.file == file;
    let is_used = sources
        .list
        .iter()
        .filter(is_of)
        .any(|source| !source.is_invalid());
    let path = call.host().path(file);
    let failed = |error| PkgError::from(os_error(&error, &path));
    if !is_used && file.contains("sources.list.d/") && path.is_file() {
        sources.list.retain(|source| source.file != file);
        paths::remove_file(&path).map_err(failed)?;
        return Ok(format!(
            "File {file} containing repo '{repo}' has been removed."
        ));
    }
    if !sources.list.iter().any(|source| source.file == file) {
        // Its last line is gone.
        host::replace_file(&path, b"").map_err(failed)?;
    }
    Ok(format!("Repo '{repo}' has been removed from {file}.\n"))
}
