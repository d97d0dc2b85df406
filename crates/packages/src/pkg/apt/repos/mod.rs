//! apt's repositories: finding, changing and deleting entries of its sources.

mod delete;
mod modify;
mod ppa;
use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::source_list::{MAIN_FILE, SourceList};
use super::sources::{Form, Line, Section, Source};
use crate::pkg::error::PkgError;
pub(crate) use delete::del_repo;
use modify::set_line_fields;
pub(crate) use modify::{comments_text, mod_repo};
use ppa::{of_ppa, ppa_file};

fn list(items: Vec<String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}

fn grain(call: &Call<'_>, name: &str) -> String {
    call.ctx
        .grains()
        .get(name)
        .map(python::str)
        .unwrap_or_default()
}

/// The repositories by place.
pub(crate) fn list_repos(call: &Call<'_>) -> Map {
    let mut repos = Map::new();
    for source in &SourceList::load(call).list {
        if source.is_invalid() {
            continue;
        }
        for uri in source.uris() {
            for suite in source.suites() {
                for kind in source.types() {
                    let repo = describe(source, &kind, &uri, &suite);
                    let all = repos
                        .get_or_insert_with(Value::from(uri.as_str()), || Value::List(Vec::new()));
                    if let Value::List(all) = all {
                        all.push(repo.into());
                    }
                }
            }
        }
    }
    repos
}

fn describe(source: &Source, kind: &str, uri: &str, suite: &str) -> Map {
    let line = match &source.form {
        Form::Line(line) => line.line.trim().to_owned(),
        Form::Section(_) => Line {
            kind: kind.to_owned(),
            uri: uri.to_owned(),
            dist: suite.to_owned(),
            comps: source.comps(),
            disabled: source.is_disabled(),
            architectures: source.architectures(),
            signedby: source.signedby().unwrap_or_default(),
            trusted: source.trusted(),
            ..Line::default()
        }
        .text(),
    };
    let disabled = source.is_disabled();
    Map::from([
        ("file", Value::from(source.file.as_str())),
        ("comps", list(source.comps())),
        ("disabled", disabled.into()),
        ("enabled", (!disabled).into()),
        ("dist", suite.into()),
        ("suites", list(source.suites())),
        ("type", kind.into()),
        ("types", list(source.types())),
        ("uri", uri.into()),
        ("uris", list(source.uris())),
        ("line", line.into()),
        ("architectures", list(source.architectures())),
        ("signedby", source.signedby().into()),
    ])
}

/// The repository that a line describes, empty if it is not there.
pub(crate) fn get_repo(call: &Call<'_>, repo: &str, auth: Option<&str>) -> Result<Map, PkgError> {
    let repos = list_repos(call);
    if repos.is_empty() {
        return Ok(Map::new());
    }
    let mut wanted = Line::parse(&of_ppa(call, repo, auth))?;
    if let Some(auth) = auth
        && let Some((scheme, rest)) = wanted.uri.clone().split_once("://")
        && !rest.starts_with(auth)
    {
        wanted.uri = format!("{scheme}://{auth}@{rest}");
    }
    let text = |repo: &Map, key: &str| repo.get(key).map(python::str).unwrap_or_default();
    let all = repos.values().filter_map(Value::as_list).flatten();
    for repo in all.filter_map(Value::as_map) {
        if text(repo, "type") != wanted.kind
            || text(repo, "uri").trim_end_matches('/') != wanted.uri.trim_end_matches('/')
            || text(repo, "dist") != wanted.dist
        {
            continue;
        }
        let comps = repo.get("comps").map(python::texts).unwrap_or_default();
        if wanted.comps.is_empty() || wanted.comps.iter().any(|comp| comps.contains(comp)) {
            return Ok(repo.clone());
        }
    }
    Ok(Map::new())
}

/// The architectures that a line names.
pub(crate) fn architectures(repo: &str) -> Result<Vec<String>, PkgError> {
    Ok(Line::parse(repo)?.architectures)
}

fn comma_list(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => python::str(other)
            .split(',')
            .map(|item| item.trim().to_owned())
            .collect(),
    }
}

/// What `repo` and the arguments of a state come to: the fields that the
/// repository shall have.
pub(crate) fn expand(call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<Map, PkgError> {
    let auth = kwargs.get("ppa_auth").map(python::str);
    let line = of_ppa(call, repo, auth.as_deref());
    let mut file = kwargs
        .get("file")
        .filter(|file| file.is_true())
        .map(python::str);
    if line != repo && file.is_none() {
        file = Some(ppa_file(call, repo));
    }
    let mut entry = Line::parse(&line)?;
    set_line_fields(&mut entry, kwargs);
    let trusted = kwargs.get("trusted").is_some_and(Value::is_true);
    let file = file.unwrap_or_else(|| MAIN_FILE.to_owned());
    let values = |name: &str, own: &str| {
        kwargs
            .get(name)
            .and_then(Value::as_list)
            .filter(|items| !items.is_empty())
            .map_or_else(
                || vec![own.to_owned()],
                |items| items.iter().map(python::str).collect(),
            )
    };
    let source = if file.ends_with(".sources") {
        let mut section = Section::default();
        section.set("Types", &values("types", &entry.kind).join(" "));
        section.set("URIs", &values("uris", &entry.uri).join(" "));
        section.set("Suites", &values("suites", &entry.dist).join(" "));
        section.set("Components", &entry.comps.join(" "));
        if !entry.architectures.is_empty() {
            section.set("Architectures", &entry.architectures.join(" "));
        }
        if !entry.signedby.is_empty() {
            section.set("Signed-By", &entry.signedby);
        }
        if trusted {
            section.set("Trusted", "yes");
        }
        if entry.disabled {
            section.set("Enabled", "no");
        }
        Form::Section(section)
    } else {
        // Only what the fields say, in one order.
        let fresh = Line {
            line: String::new(),
            comment: String::new(),
            trusted: trusted.then_some(true),
            ..entry.clone()
        };
        Form::Line(fresh)
    };
    let source = Source { file, form: source };
    Ok(Map::from([
        ("file", Value::from(source.file.as_str())),
        ("comps", list(source.comps())),
        ("disabled", source.is_disabled().into()),
        ("dist", source.suites().join(" ").into()),
        ("suites", list(source.suites())),
        ("type", source.types().join(" ").into()),
        ("types", list(source.types())),
        ("uri", source.uris().join(" ").into()),
        ("uris", list(source.uris())),
        ("line", source.text().into()),
        ("architectures", list(source.architectures())),
        ("signedby", entry.signedby.into()),
    ]))
}
