//! Repositories of zypper: read from their files, changed by zypper.

use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::query::refresh;
use super::{Before, run, xml};
use crate::pkg::error::PkgError;
use crate::pkg::repo_file::{names_in, parse};
use crate::words;

const DIRECTORY: &str = "/etc/zypp/repos.d";

/// All repositories by their aliases.
pub(in crate::pkg) fn list_repos(call: &Call<'_>) -> Map {
    let root = call
        .get("root")
        .filter(|root| root.is_true())
        .map(python::str)
        .unwrap_or_default();
    let directory = format!("{}{DIRECTORY}", root.trim_end_matches('/'));
    let mut all = Map::new();
    for file in names_in(call, &directory) {
        for (alias, fields) in parse(&call.host().read(format!("{directory}/{file}"))).1 {
            let Value::Map(mut fields) = fields else {
                continue;
            };
            fields.remove("comments");
            for (_, value) in fields.iter_mut() {
                match value.as_str() {
                    Some("0") => *value = false.into(),
                    Some("1") => *value = true.into(),
                    _ => {}
                }
            }
            fields.insert("alias", alias.clone());
            all.insert(alias, fields);
        }
    }
    all
}

pub(in crate::pkg) fn get_repo(call: &Call<'_>, repo: &str) -> Map {
    match list_repos(call).remove(repo) {
        Some(Value::Map(found)) => found,
        _ => Map::new(),
    }
}

fn xml_before() -> Before {
    Before {
        xml: true,
        ..Before::default()
    }
}

pub(in crate::pkg) fn del_repo(call: &Call<'_>, repo: &str) -> Result<Map, PkgError> {
    if !list_repos(call).contains_key(repo) {
        return Err(PkgError::command(format!("Repository '{repo}' not found.")));
    }
    let line = words(&["removerepo", "--loose-auth", "--loose-query", repo]);
    let ran = run(call, xml_before(), &line)?;
    let said = xml::elements(&ran.stdout)
        .into_iter()
        .find(|element| element.name == "message")
        .map(|element| element.text)
        .unwrap_or_default();
    Ok(Map::from([
        (repo, Value::from(true)),
        ("message", said.into()),
    ]))
}

/// A place as zypper writes it, for comparison.
fn plain_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    match url.strip_prefix("file:") {
        Some(path) => format!("file:/{}", path.trim_start_matches('/')),
        None => url.to_owned(),
    }
}

/// Adds the repository that is not there yet.
fn add(call: &Call<'_>, repo: &str, known: &Map, kwargs: &Map) -> Result<(), PkgError> {
    let get = |name: &str| kwargs.get(name).filter(|value| value.is_true());
    let Some(url) = get("baseurl")
        .or_else(|| get("url"))
        .or_else(|| get("mirrorlist"))
    else {
        return Err(PkgError::command(format!(
            "Repository '{repo}' not found, and neither 'baseurl' nor 'mirrorlist' was specified"
        )));
    };
    let url = python::str(url);
    if !url.contains(':') {
        return Err(PkgError::command(format!(
            "Repository '{repo}' not found and passed URL is not valid"
        )));
    }
    for (alias, fields) in known {
        let theirs = fields.get("baseurl").or_else(|| fields.get("mirrorlist"));
        if theirs.is_some_and(|theirs| plain_url(&python::str(theirs)) == plain_url(&url)) {
            return Err(PkgError::command(format!(
                "Repository '{repo}' already exists as '{}'.",
                python::str(alias)
            )));
        }
    }
    run(call, xml_before(), &words(&["addrepo", &url, repo]))?;
    if list_repos(call).contains_key(repo) {
        Ok(())
    } else {
        Err(PkgError::command(format!(
            "Failed add new repository '{repo}' for unspecified reason. Please check zypper logs."
        )))
    }
}

pub(in crate::pkg) fn mod_repo(call: &Call<'_>, repo: &str, kwargs: &Map) -> Result<Map, PkgError> {
    let known = list_repos(call);
    let is_new = !known.contains_key(repo);
    if is_new {
        add(call, repo, &known, kwargs)?;
    }
    let mut options: Vec<String> = Vec::new();
    for (key, on, off) in [
        ("enabled", "--enable", "--disable"),
        ("refresh", "--refresh", "--no-refresh"),
        ("cache", "--keep-packages", "--no-keep-packages"),
        ("gpgcheck", "--gpgcheck", "--no-gpgcheck"),
    ] {
        if let Some(value) = kwargs.get(key).filter(|value| !value.is_nil()) {
            let option = if value.is_true() { on } else { off };
            options.push(option.to_owned());
        }
    }
    if let Some(priority) = kwargs.get("priority").filter(|value| !value.is_nil()) {
        options.push(format!("--priority={}", python::str(priority)));
    }
    let name = kwargs.get("humanname").or_else(|| kwargs.get("name"));
    if let Some(name) = name.filter(|name| name.is_true()) {
        options.extend(["--name".to_owned(), python::str(name)]);
    }
    let imports = kwargs.get("gpgautoimport").is_some_and(Value::is_true);
    let modified = !options.is_empty();
    if modified {
        let before = Before {
            import_keys: imports,
            ..xml_before()
        };
        let mut line = words(&["modifyrepo"]);
        line.extend(options);
        line.push(repo.to_owned());
        run(call, before, &line)?;
    }
    if imports {
        refresh(call, &Map::from([("gpgautoimport", true)]))?;
    }
    let mut found = get_repo(call, repo);
    if !modified && !is_new && !imports {
        found.insert(
            "comment",
            "Specified arguments did not result in modification of repo",
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::plain_url;

    #[test]
    fn places_are_compared_as_zypper_writes_them() {
        assert_eq!(plain_url("file:///repos/two/"), "file:/repos/two");
        assert_eq!(plain_url("http://h/x"), "http://h/x");
    }
}
