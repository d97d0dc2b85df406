//! Setting repositories up, and changing them.
use halite_call::{Call, host, python};
use halite_proto::{Map, Value};

use super::delete::consolidate;
use super::ppa::{Ppa, ppa};
use super::{comma_list, get_repo, list};
use crate::pkg::apt::source_list::{MAIN_FILE, SourceList};
use crate::pkg::apt::sources::{Form, Line, Section, Source, truth};
use crate::pkg::apt::{keys, refresh};
use crate::pkg::error::PkgError;

pub(super) fn set_line_fields(entry: &mut Line, kwargs: &Map) {
    let text = |name: &str| kwargs.get(name).map(python::str);
    if let Some(uri) = text("uri") {
        entry.uri = uri;
    }
    if let Some(comps) = kwargs.get("comps") {
        entry.comps = comma_list(comps);
    }
    if let Some(architectures) = kwargs.get("architectures") {
        entry.architectures = comma_list(architectures);
    }
    if let Some(disabled) = kwargs.get("disabled") {
        entry.disabled = disabled.is_true();
    }
    if let Some(dist) = text("dist") {
        entry.dist = dist;
    }
    if let Some(key) = text("signedby") {
        entry.signedby = key;
    }
    if let Some(trusted) = kwargs.get("trusted") {
        entry.trusted = trusted_value(trusted);
    }
}

pub(super) fn trusted_value(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(bool) => Some(*bool),
        Value::Int(int) if *int == 0 || *int == 1 => Some(*int == 1),
        Value::Str(text) => truth(text),
        _ => None,
    }
}

/// Sets up a repository, or changes the one that is there.
pub(crate) fn mod_repo(call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<Map, PkgError> {
    let mut kwargs = kwargs.clone();
    let refresh_after = kwargs
        .get("refresh_db")
        .or_else(|| kwargs.get("refresh"))
        .is_none_or(Value::is_true);
    let aptkey = kwargs.get("aptkey").is_none_or(Value::is_true) && call.host().has("apt-key");
    let mut repo_line = repo.to_owned();
    if repo.starts_with("ppa:") {
        match ppa(call, repo, &mut kwargs, refresh_after)? {
            Ppa::Done(ret) => return Ok(ret),
            Ppa::Line(line) => repo_line = line,
        }
    }
    let mut sources = SourceList::load(call);
    if kwargs.get("consolidate").is_some_and(Value::is_true) {
        consolidate(call, &mut sources)?;
    }
    let wanted = Line::parse(&repo_line)?;
    if wanted.invalid {
        return Err(PkgError::invocation(format!(
            "Name {repo_line} is not valid. This must be the complete repo entry as seen in the sources file"
        )));
    }
    keys::of_repo(call, &wanted, &mut kwargs, aptkey)?;
    let mut comps = wanted.comps.clone();
    match kwargs.get("comps") {
        Some(given) => {
            let given = comma_list(given);
            for comp in &given {
                if !comps.contains(comp) {
                    comps.push(comp.clone());
                }
            }
            kwargs.insert("comps", list(given));
        }
        None => drop(kwargs.insert("comps", list(comps.clone()))),
    }
    let architectures = match kwargs.get("architectures") {
        Some(given) => comma_list(given),
        None => wanted.architectures.clone(),
    };
    if let Some(disabled) = kwargs.get("disabled").map(host::is_true) {
        kwargs.insert("disabled", disabled);
    } else if let Some(enabled) = kwargs.get("enabled").map(host::is_true) {
        kwargs.insert("disabled", !enabled);
    }
    let found = find(&sources, &wanted, &comps, &architectures, &kwargs);
    let at = match found {
        Some(at) => at,
        None => {
            let trusted = kwargs.get("trusted").and_then(trusted_value) == Some(true);
            if !aptkey && wanted.signedby.is_empty() && !trusted {
                return Err(PkgError::invocation(
                    "missing 'signedby' or 'trusted' option when apt-key is missing",
                ));
            }
            sources.list.push(fresh(&wanted, &repo_line, &kwargs)?);
            sources.list.len() - 1
        }
    };
    let source = &mut sources.list[at];
    change(source, &wanted, &repo_line, &architectures, &kwargs);
    sources.save(call)?;
    if refresh_after {
        refresh(call, &Map::new())?;
    }
    let now = get_repo(call, &repo_line, None)?;
    Ok(Map::from([(repo_line.as_str(), now)]))
}

/// The entry that the arguments are about.
pub(super) fn find(
    sources: &SourceList,
    wanted: &Line,
    comps: &[String],
    architectures: &[String],
    kwargs: &Map,
) -> Option<usize> {
    let text = |name: &str| kwargs.get(name).map(python::str);
    let (kind, dist) = (text("type"), text("dist"));
    let place = |uri: &str| uri.trim_end_matches('/').to_owned();
    sources.list.iter().position(|source| {
        if source.is_invalid() {
            return false;
        }
        let (types, suites) = (source.types(), source.suites());
        let by_line = types.contains(&wanted.kind)
            && source
                .uris()
                .iter()
                .any(|uri| place(uri) == place(&wanted.uri))
            && suites.contains(&wanted.dist);
        let by_arguments = dist.as_ref().is_some_and(|dist| suites.contains(dist))
            && kind.as_ref().is_some_and(|kind| types.contains(kind));
        let own = source.comps();
        (by_line || by_arguments)
            && (own.is_empty()
                || comps.iter().any(|comp| own.contains(comp))
                || source.architectures() != architectures)
    })
}

/// A new entry.
pub(super) fn fresh(wanted: &Line, line: &str, kwargs: &Map) -> Result<Source, PkgError> {
    let file = kwargs
        .get("file")
        .filter(|file| file.is_true())
        .map_or_else(|| MAIN_FILE.to_owned(), python::str);
    let form = if file.ends_with(".sources") {
        let mut section = Section::default();
        section.set("Types", &wanted.kind);
        section.set("URIs", &wanted.uri);
        section.set("Suites", &wanted.dist);
        section.set("Components", &wanted.comps.join(" "));
        let asked = ["trusted", "Trusted"]
            .iter()
            .any(|name| kwargs.get(name) == Some(&Value::Bool(true)));
        if asked || (!kwargs.contains_key("trusted") && wanted.trusted == Some(true)) {
            section.set("Trusted", "yes");
        }
        Form::Section(section)
    } else {
        Form::Line(Line::parse(line)?)
    };
    Ok(Source { file, form })
}

pub(super) fn change(
    source: &mut Source,
    wanted: &Line,
    line: &str,
    architectures: &[String],
    kwargs: &Map,
) {
    if let Some(comments) = kwargs.get("comments") {
        source.set_comment(&comments_text(comments));
    }
    if let Form::Line(entry) = &mut source.form {
        line.clone_into(&mut entry.line);
    }
    let is_section = matches!(source.form, Form::Section(_));
    if let Some(comps) = kwargs.get("comps") {
        source.set_many("Components", &comma_list(comps));
    }
    if !architectures.is_empty() || !source.architectures().is_empty() {
        source.set_many("Architectures", architectures);
    }
    if let Some(uri) = kwargs.get("uri") {
        source.set_many("URIs", &[python::str(uri)]);
    }
    if let Some(dist) = kwargs.get("dist") {
        source.set_many("Suites", &[python::str(dist)]);
    }
    if is_section {
        for (name, tag) in [("uris", "URIs"), ("suites", "Suites"), ("types", "Types")] {
            if let Some(Value::List(items)) = kwargs.get(name) {
                let items: Vec<String> = items.iter().map(python::str).collect();
                source.set_many(tag, &items);
            }
        }
    }
    if let Some(disabled) = kwargs.get("disabled") {
        source.set_disabled(disabled.is_true());
    }
    if let Some(file) = kwargs.get("file").filter(|file| file.is_true()) {
        source.file = python::str(file);
    }
    if !wanted.signedby.is_empty() || !is_section {
        source.set_signedby(&wanted.signedby);
    }
    if let Some(trusted) = kwargs.get("trusted").and_then(trusted_value) {
        source.set_trusted(trusted);
    }
    if let Form::Line(entry) = &mut source.form
        && entry.uri != wanted.uri
    {
        entry.uri.clone_from(&wanted.uri);
    }
}

/// Comments as one text.
pub(crate) fn comments_text(comments: &Value) -> String {
    match comments {
        Value::List(items) => items.iter().map(python::str).collect::<Vec<_>>().join(" "),
        other => python::str(other),
    }
    .trim()
    .to_owned()
}
