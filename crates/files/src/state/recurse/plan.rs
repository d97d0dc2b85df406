//! The wanted content of a directory, from the master's files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use halite_call::{Call, CallError, FileClient, python};
use halite_proto::Value;

use crate::core::path;
use crate::sources::fetch;
use crate::state::walk;

/// What the directory is to hold.
#[derive(Default)]
pub(super) struct Tree {
    /// Paths here with their sources.
    pub(super) files: BTreeMap<String, String>,
    /// Directories here.
    pub(super) dirs: BTreeSet<String>,
    /// Links here with their targets.
    pub(super) links: BTreeMap<String, String>,
    /// All of it, and what is above it.
    pub(super) keep: HashSet<PathBuf>,
}

/// The sources that are directories of the master: their paths and
/// environments.
pub(super) fn choose(
    call: &Call<'_>,
    sources: &[String],
) -> Result<Vec<(String, String)>, CallError> {
    let saltenv = fetch::state_env(call, call.kwargs());
    let mut found = Vec::new();
    for source in sources {
        let Some((path, env)) = fetch::salt_place(call, source, &saltenv) else {
            continue;
        };
        let path = path.trim_matches('/').to_owned();
        let all = names(&FileClient::new(call.ctx).list("_dir_list", &env, "")?);
        let below = format!("{path}/");
        if path.is_empty()
            || all
                .iter()
                .any(|own| *own == path || own.starts_with(&below))
        {
            found.push((path, env));
        }
    }
    Ok(found)
}

fn names(list: &Value) -> Vec<String> {
    let items = list.as_list().unwrap_or_default();
    items
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// What several sources have together; of what two have the first one counts.
pub(super) fn plan_all(
    call: &Call<'_>,
    name: &str,
    sources: &[(String, String)],
) -> Result<Tree, CallError> {
    let mut all = Tree::default();
    for (source, saltenv) in sources.iter().rev() {
        let tree = plan(call, name, source, saltenv)?;
        all.files.extend(tree.files);
        all.dirs.extend(tree.dirs);
        all.links.extend(tree.links);
        all.keep.extend(tree.keep);
    }
    Ok(all)
}

fn plan(call: &Call<'_>, name: &str, source: &str, saltenv: &str) -> Result<Tree, CallError> {
    let client = FileClient::new(call.ctx);
    let prefix = if source.is_empty() {
        String::new()
    } else {
        format!("{source}/")
    };
    let choice = walk::Choice::new(call.arg("include_pat"), call.arg("exclude_pat"))?;
    let maxdepth = match call.arg("maxdepth") {
        Value::Nil => usize::MAX,
        depth => usize::try_from(python::int(depth)?).unwrap_or(0),
    };
    let mut tree = Tree::default();
    let mut inside_links: Vec<String> = Vec::new();
    if call.flag("keep_symlinks") {
        let found = client.list("_symlink_list", saltenv, source)?;
        for (link, target) in found.as_map().into_iter().flatten() {
            let link = python::str(link);
            let Some(relative) = link.strip_prefix(&prefix) else {
                continue;
            };
            inside_links.push(link.clone());
            if choice.takes(relative) {
                let to = path::join(name, &[relative]);
                tree.keep.insert(PathBuf::from(&to));
                tree.links.insert(to, python::str(target));
            }
        }
    }
    let is_in_link = |file: &str| {
        inside_links.iter().any(|link| {
            file.strip_prefix(link.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    for file in client.files(saltenv, source)? {
        let Some(relative) = file.strip_prefix(&prefix).filter(|name| !name.is_empty()) else {
            continue;
        };
        let depth = relative.matches('/').count();
        if is_in_link(&file) || !choice.takes(relative) || depth > maxdepth {
            continue;
        }
        let to = path::join(name, &[relative]);
        tree.dirs.insert(path::dirname(&to).to_owned());
        tree.keep.insert(PathBuf::from(&to));
        tree.files
            .insert(to, format!("salt://{file}?saltenv={saltenv}"));
    }
    if call.flag("include_empty") {
        for dir in names(&client.list("_dir_list", saltenv, source)?) {
            let relative = if dir == source {
                "."
            } else {
                match dir.strip_prefix(&prefix) {
                    Some(relative) => relative,
                    None => continue,
                }
            };
            if is_in_link(&dir) || !choice.takes(relative) {
                continue;
            }
            let to = path::join(name, &[relative]);
            tree.keep.insert(PathBuf::from(&to));
            tree.dirs.insert(to);
        }
    }
    Ok(tree)
}
