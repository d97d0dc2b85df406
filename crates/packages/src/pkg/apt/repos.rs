//! apt's repositories: finding, changing and deleting entries of its sources.

use halite_modules::{Call, CallError, host, python};
use halite_proto::{Map, Value};

use super::source_list::{MAIN_FILE, SourceList};
use super::sources::{Form, Line, Section, Source, truth};
use super::{keys, refresh};
use crate::pkg::error::PkgError;

/// Systems that know `ppa:` repositories.
const WITH_PPA: &[&str] = &["Ubuntu", "Mint", "neon"];

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

/// The line of a `ppa:` repository; anything else as it is.
fn of_ppa(call: &Call<'_>, repo: &str, auth: Option<&str>) -> String {
    let Some((owner, name)) = repo
        .strip_prefix("ppa:")
        .filter(|_| WITH_PPA.contains(&grain(call, "os").as_str()))
        .and_then(|rest| rest.split_once('/'))
    else {
        return repo.to_owned();
    };
    let dist = grain(call, "oscodename");
    match auth {
        Some(auth) => format!(
            "deb https://{auth}@private-ppa.launchpad.net/{owner}/{name}/ubuntu {dist} main"
        ),
        None => format!("deb http://ppa.launchpad.net/{owner}/{name}/ubuntu {dist} main"),
    }
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

fn ppa_file(call: &Call<'_>, repo: &str) -> String {
    let name = repo.trim_start_matches("ppa:").replace('/', "-");
    let dist = grain(call, "oscodename");
    format!("/etc/apt/sources.list.d/{name}-{dist}.list")
}

fn set_line_fields(entry: &mut Line, kwargs: &Map) {
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

fn trusted_value(value: &Value) -> Option<bool> {
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

enum Ppa {
    Done(Map),
    Line(String),
}

fn ppa(
    call: &Call<'_>,
    repo: &str,
    kwargs: &mut Map,
    refresh_after: bool,
) -> Result<Ppa, PkgError> {
    if !WITH_PPA.contains(&grain(call, "os").as_str()) {
        return Err(PkgError::command(format!(
            "cannot parse \"ppa:\" style repo definitions: {repo}"
        )));
    }
    let auth = kwargs.get("ppa_auth").map(python::str);
    if call.host().has("apt-add-repository") && auth.is_none() {
        let known = get_repo(call, repo, None)?;
        if !known.is_empty() {
            return Ok(Ppa::Done(Map::from([(repo, known)])));
        }
        let words = ["apt-add-repository", "-y", repo];
        let ran = super::run(call, || super::Tool::new(&words))?;
        if !ran.ok() {
            let list = list(words.iter().map(|word| (*word).to_owned()).collect());
            return Err(PkgError::command(format!(
                "Unable to add PPA '{}'. '{}' exited with status {}: '{}'",
                &repo[4..],
                python::repr(&list),
                ran.code,
                ran.stderr
            )));
        }
        if refresh_after {
            refresh(call, &Map::new())?;
        }
        let ran = Map::from([
            ("retcode", Value::from(ran.code)),
            ("stdout", ran.stdout.into()),
            ("stderr", ran.stderr.into()),
        ]);
        return Ok(Ppa::Done(Map::from([(repo, ran)])));
    }
    if !repo[4..].contains('/') {
        return Err(PkgError::command(format!(
            "Unable to get PPA info from argument. Expected format \"<PPA_OWNER>/<PPA_NAME>\" \
             (e.g. saltstack/salt) not found.  Received '{}' instead.",
            &repo[4..]
        )));
    }
    if !kwargs.contains_key("keyid") {
        return Err(PkgError::command(format!(
            "Without apt-add-repository a PPA needs its key: set keyid for {}",
            &repo[4..]
        )));
    }
    kwargs.insert("dist", grain(call, "oscodename"));
    if !kwargs.contains_key("file") {
        kwargs.insert("file", ppa_file(call, repo));
    }
    if !kwargs.contains_key("keyserver") {
        kwargs.insert("keyserver", "keyserver.ubuntu.com");
    }
    Ok(Ppa::Line(of_ppa(call, repo, auth.as_deref())))
}

/// The entry that the arguments are about.
fn find(
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
fn fresh(wanted: &Line, line: &str, kwargs: &Map) -> Result<Source, PkgError> {
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

fn change(source: &mut Source, wanted: &Line, line: &str, architectures: &[String], kwargs: &Map) {
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

/// Puts all entries into the main file, equal ones together.
fn consolidate(call: &Call<'_>, sources: &mut SourceList) -> Result<(), PkgError> {
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
        let _ = std::fs::remove_file(call.host().path(file));
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
            std::fs::remove_file(&path).map_err(|error| {
                PkgError::from(CallError::command(format!("{}: {error}", path.display())))
            })?;
            said.push_str(&format!(
                "File {file} containing repo '{repo}' has been removed."
            ));
        } else {
            said.push_str(&format!("Repo '{repo}' has been removed from {file}.\n"));
            if sources.list.iter().all(|source| source.file != *file) {
                // Its last line is gone.
                host::replace_file(&path, b"")
                    .map_err(|error| PkgError::command(format!("{}: {error}", path.display())))?;
            }
        }
    }
    sources.save(call)?;
    refresh(call, &Map::new())?;
    Ok(said)
}
