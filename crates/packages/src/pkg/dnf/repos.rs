//! Repositories of dnf: `.repo` files.

use halite_call::host::replace_file;
use halite_call::{Call, os_error, paths, python};
use halite_proto::{Map, Value};

use super::{run, tool};
use crate::pkg::error::PkgError;
use crate::pkg::repo_file::{names_in, parse, write};
use crate::words;

const LINKS: &[&str] = &["baseurl", "mirrorlist", "metalink"];

/// Where files are looked for, unless the call says where.
const DIRECTORIES: &[&str] = &["/etc/yum/repos.d", "/etc/yum.repos.d"];

/// The directories of repositories.
fn directories(basedir: Option<&Value>) -> Vec<String> {
    let given = basedir.filter(|given| given.is_true());
    match given {
        Some(given) => python::texts(given),
        None => DIRECTORIES.iter().map(|path| (*path).to_owned()).collect(),
    }
}

/// Directories in Python's notation.
fn shown(directories: &[String]) -> String {
    let list = directories.iter().map(|path| path.as_str().into());
    python::repr(&Value::List(list.collect()))
}

/// All repositories; each knows its file.
pub(crate) fn list_repos(call: &Call<'_>, basedir: Option<&Value>) -> Map {
    let mut all = Map::new();
    for directory in directories(basedir) {
        for file in names_in(call, &directory) {
            let path = format!("{directory}/{file}");
            for (name, fields) in parse(&call.host().read(&path)).1 {
                if let Value::Map(mut fields) = fields {
                    fields.insert("file", path.as_str());
                    all.insert(name, fields);
                }
            }
        }
    }
    all
}

/// The repository that a Copr name stands for.
fn of_copr(repo: &str) -> String {
    match repo.strip_prefix("copr:") {
        Some(name) => format!("copr:copr.fedorainfracloud.org:{}", name.replace('/', ":")),
        None => repo.to_owned(),
    }
}

pub(crate) fn get_repo(call: &Call<'_>, repo: &str, basedir: Option<&Value>) -> Map {
    let mut found = match list_repos(call, basedir).remove(&of_copr(repo)) {
        Some(Value::Map(found)) => found,
        _ => Map::new(),
    };
    found.remove("file");
    found
}

fn save(call: &Call<'_>, file: &str, text: &str) -> Result<(), PkgError> {
    replace_file(&call.host().path(file), text.as_bytes())
        .map_err(|error| PkgError::from(os_error(&error, file)))
}

pub(crate) fn del_repo(
    call: &Call<'_>,
    repo: &str,
    basedir: Option<&Value>,
) -> Result<String, PkgError> {
    let repo = of_copr(repo);
    let repos = list_repos(call, basedir);
    let file_of = |repo: &Value| repo.get("file").map(python::str).unwrap_or_default();
    let Some(file) = repos.get(&repo).map(file_of) else {
        return Ok(format!(
            "Error: the {repo} repo does not exist in {}",
            shown(&directories(basedir))
        ));
    };
    let in_file = repos.values().filter(|repo| file_of(repo) == file).count();
    if in_file == 1 {
        paths::remove_file(call.host().path(&file))
            .map_err(|error| PkgError::from(os_error(&error, &file)))?;
        return Ok(format!(
            "File {file} containing repo {repo} has been removed"
        ));
    }
    let (header, mut repos) = parse(&call.host().read(&file));
    repos.remove(&repo);
    save(call, &file, &write(&header, &repos))?;
    Ok(format!("Repo {repo} has been removed from {file}"))
}

/// What is to be changed of a repository.
struct ChangedFields {
    /// Fields that are set.
    options: Map,
    /// Fields that go.
    unset: Vec<String>,
}

impl ChangedFields {
    /// Those of a call's arguments.
    fn of(kwargs: &Map) -> Result<Self, PkgError> {
        let mut options = kwargs.clone();
        options.retain(|key, _| {
            !key.as_str().is_some_and(|key| {
                matches!(
                    key,
                    "saltenv" | "aptkey" | "basedir" | "clean_file" | "refresh"
                )
            })
        });
        if LINKS
            .iter()
            .filter(|link| options.contains_key(link))
            .count()
            >= 2
        {
            return Err(PkgError::invocation(format!(
                "One and only one of {} can be used",
                LINKS.join(", ")
            )));
        }
        let mut unset: Vec<String> = Vec::new();
        options.retain(|key, value| {
            let keep = value.is_true() || matches!(value, Value::Int(0) | Value::Bool(false));
            if !keep {
                unset.push(python::str(key));
            }
            keep
        });
        if let Some(link) = LINKS.iter().find(|link| options.contains_key(link)) {
            unset.extend(
                LINKS
                    .iter()
                    .filter(|other| other != &link)
                    .map(|link| (*link).to_owned()),
            );
        }
        if unset.iter().any(|key| key == "name") {
            return Err(PkgError::invocation("The repo name cannot be deleted"));
        }
        Ok(Self { options, unset })
    }
}

/// The file of a repository that is not there yet.
fn new_file(
    call: &Call<'_>,
    repo: &str,
    basedir: Option<&Value>,
    options: &Map,
) -> Result<String, PkgError> {
    let missing = |what: &str| {
        PkgError::invocation(format!(
            "The repo does not exist and needs to be created, but {what}"
        ))
    };
    let directories = directories(basedir);
    let is_there = |path: &&String| call.host().path(path).is_dir();
    let Some(directory) = directories.iter().find(is_there) else {
        return Err(missing(&format!(
            "none of the following basedir directories exist: {}",
            shown(&directories)
        )));
    };
    if !options.contains_key("name") {
        return Err(missing("a name was not given"));
    }
    if !LINKS.iter().any(|link| options.contains_key(link)) {
        return Err(missing(&format!("none of {} was given", LINKS.join(", "))));
    }
    Ok(format!("{directory}/{repo}.repo"))
}

pub(crate) fn mod_repo(call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<Map, PkgError> {
    let ChangedFields { options, unset } = ChangedFields::of(kwargs)?;
    let copr = repo.strip_prefix("copr:");
    let repo = of_copr(repo);
    let basedir = kwargs.get("basedir");
    let mut known = list_repos(call, basedir);
    if let (Some(copr), false) = (copr, known.contains_key(&repo)) {
        let ran = run(call, &words(&["copr", "enable", copr, "-y"]), false)?;
        if !ran.ok() {
            return Err(PkgError::command(format!(
                "Unable to add COPR '{copr}'. '{}' exited with status {}: '{}' ",
                tool(call),
                ran.code,
                ran.stderr
            )));
        }
        known = list_repos(call, basedir);
    }
    let file = match known.get(&repo).and_then(|repo| repo.get("file")) {
        Some(file) => python::str(file),
        None => new_file(call, &repo, basedir, &options)?,
    };
    let (header, mut repos) = parse(&call.host().read_to_change(&file)?);
    let fields = repos.get_or_insert_with(Value::from(repo.as_str()), || Value::Map(Map::new()));
    if let Value::Map(fields) = fields {
        for key in &unset {
            fields.remove(key);
        }
        fields.extend(options);
    }
    save(call, &file, &write(&header, &repos))?;
    Ok(Map::from([(file, Value::Map(repos))]))
}
