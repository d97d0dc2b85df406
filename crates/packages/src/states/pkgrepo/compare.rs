//! Whether a repository is configured as it is asked for.

use halite_call::{Call, host, python};
use halite_proto::{Map, Value};

use crate::pkg::apt::repos;
use crate::pkg::repo_file;

use super::repository::Repo;

/// With `clean_file`: whether the file has lines that are not this entry.
pub(super) fn has_stale_lines(call: &Call<'_>, repo: &Repo) -> bool {
    let clean = repo.kwargs.get("clean_file").is_some_and(Value::is_true);
    let Some(file) = repo
        .kwargs
        .get("file")
        .filter(|file| clean && file.is_true())
    else {
        return false;
    };
    call.host()
        .read(python::str(file))
        .lines()
        .map(str::trim)
        .any(|line| !line.is_empty() && !line.starts_with('#') && line != repo.name.trim())
}

/// Whether the repository is what is wanted, as far as both say something.
pub(super) fn is_same(repo: &Repo, wanted: &Map, pre: &Map) -> bool {
    wanted.iter().all(|(key, value)| {
        let key = python::str(key);
        let Some(old) = pre.get(&key) else {
            return match key.as_str() {
                "enabled" if repo.family == "RedHat" => host::is_true(value),
                "enabled" | "comps" | "key_url" => false,
                _ => true,
            };
        };
        is_same_field(repo, wanted, &key, value, old)
    })
}

fn is_same_field(repo: &Repo, wanted: &Map, key: &str, value: &Value, old: &Value) -> bool {
    let set = |value: &Value| {
        let mut items = match value {
            Value::List(items) => items.iter().map(python::str).collect(),
            Value::Str(text) => text.chars().map(String::from).collect(),
            other => python::texts(other),
        };
        items.sort();
        items
    };
    match key {
        "comps" | "key_url" => set(value) == set(old),
        "line" if repo.apt => {
            if wanted.get("disabled").is_some_and(Value::is_true) {
                return true;
            }
            let old = python::str(old);
            let (line, comments) = old.split_once('#').unwrap_or((&old, ""));
            if sorted_words(&python::str(value)) != sorted_words(line) {
                return false;
            }
            repo.kwargs
                .get("comments")
                .is_none_or(|wanted| repos::comments_text(wanted) == comments.trim())
        }
        "comments" if repo.family == "RedHat" => {
            repo_file::comments_text(value) == repo_file::comments_text(old)
        }
        "architectures" if value.is_true() => {
            let (mut a, mut b) = (set(value), set(old));
            a.dedup();
            b.dedup();
            a == b
        }
        _ if !repo.apt && (value.as_bool().is_some() || old.as_bool().is_some()) => {
            rpm_truth(value) == rpm_truth(old)
        }
        _ => python::str(value) == python::str(old),
    }
}

/// Truth as Salt takes it from the files of repositories.
fn rpm_truth(value: &Value) -> bool {
    match value {
        Value::Str(text) => text
            .parse::<i64>()
            .map_or_else(|_| host::is_true(value), |number| number > 0),
        other => host::is_true(other),
    }
}

/// The words of an entry, its components in order.
fn sorted_words(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if let Some(comps) = words.get_mut(3..) {
        comps.sort_unstable();
    }
    words
}
