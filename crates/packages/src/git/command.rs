//! The everyday functions of one repository.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::password::Place;
use super::{Git, run};

/// Words of an argument: a list, or text as a shell reads it.
pub(super) fn words_of(call: &Call<'_>, arg: &str) -> Vec<String> {
    run::words_of(call.arg(arg))
}

/// The items of a list, or of a text with commas.
pub(super) fn list_of(value: &Value) -> Vec<String> {
    match value {
        Value::Nil => Vec::new(),
        Value::List(items) => items.iter().map(python::str).collect(),
        other => python::str(other)
            .split(',')
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect(),
    }
}

pub(super) fn run_one(call: &Call<'_>, first: &[&str], args: &[&str]) -> CallResult {
    let mut words: Vec<String> = first.iter().map(|word| (*word).to_owned()).collect();
    for arg in args {
        match *arg {
            "opts" | "rev" => words.extend(words_of(call, arg)),
            arg => words.extend(call.text_opt(arg).filter(|text| !text.is_empty())),
        }
    }
    Ok(Git::of(call).run(call, &words)?.into())
}

/// The place of `cwd` on this machine.
pub(super) fn rooted(call: &Call<'_>) -> String {
    call.host().path(call.text("cwd")).display().to_string()
}

pub(super) fn texts(list: Vec<String>) -> Value {
    Value::List(list.into_iter().map(Value::from).collect())
}

pub(super) fn add(call: &Call<'_>) -> CallResult {
    let mut words = vec!["add".to_owned()];
    words.extend(words_of(call, "opts"));
    words.extend(["--".to_owned(), call.text("filename")]);
    Ok(Git::of(call).run(call, &words)?.into())
}

pub(super) fn checkout(call: &Call<'_>) -> CallResult {
    let mut words = vec!["checkout".to_owned()];
    if call.flag("force") {
        words.push("--force".to_owned());
    }
    words.extend(words_of(call, "opts"));
    words.extend(words_of(call, "rev"));
    let ran = Git::of(call).ran(call, &words)?;
    // It speaks where errors go.
    Ok(ran.complaint().into())
}

/// The place that an argument names, with the user and password of the call.
pub(crate) fn place(call: &Call<'_>, arg: &str) -> Result<Place, CallError> {
    Place::new(
        &call.text(arg),
        call.text_opt("https_user").as_deref(),
        call.text_opt("https_pass").as_deref(),
    )
}

pub(super) fn clone(call: &Call<'_>) -> CallResult {
    let place = place(call, "url")?;
    let mut git = Git::of(call);
    git.login = place.login;
    let mut words = vec!["clone".to_owned()];
    words.extend(words_of(call, "opts"));
    words.extend(["--".to_owned(), place.url]);
    match call.text_opt("name") {
        Some(name) => words.push(name),
        None => {
            words.push(rooted(call));
            git.cwd = None;
        }
    }
    git.run(call, &words)?;
    Ok(true.into())
}

pub(super) fn commit(call: &Call<'_>) -> CallResult {
    let mut words = vec!["commit".to_owned(), "-m".to_owned(), call.text("message")];
    words.extend(words_of(call, "opts"));
    if let Some(file) = call.text_opt("filename") {
        words.extend(["--".to_owned(), file]);
    }
    Ok(Git::of(call).run(call, &words)?.into())
}

pub(super) fn init(call: &Call<'_>) -> CallResult {
    let mut git = Git::of(call);
    let mut words = vec!["init".to_owned()];
    if call.flag("bare") {
        words.push("--bare".to_owned());
    }
    for (arg, option) in [
        ("template", "--template="),
        ("separate_git_dir", "--separate-git-dir="),
        ("shared", "--shared="),
    ] {
        if let Some(value) = call.text_opt(arg) {
            words.push(format!("{option}{value}"));
        }
    }
    words.extend(words_of(call, "opts"));
    words.push(rooted(call));
    git.cwd = None;
    Ok(git.run(call, &words)?.into())
}

pub(super) fn list_branches(call: &Call<'_>) -> CallResult {
    let heads = if call.flag("remote") {
        "refs/remotes/"
    } else {
        "refs/heads/"
    };
    Ok(texts(Git::of(call).refs(call, heads)?))
}

pub(super) fn list_tags(call: &Call<'_>) -> CallResult {
    Ok(texts(Git::of(call).refs(call, "refs/tags/")?))
}

pub(super) fn revision(call: &Call<'_>) -> CallResult {
    let mut words = vec!["rev-parse".to_owned()];
    if call.flag("short") {
        words.push("--short".to_owned());
    }
    words.push(call.text("rev"));
    Ok(Git::of(call).run(call, &words)?.into())
}

pub(super) fn status(call: &Call<'_>) -> CallResult {
    let words = ["status", "-z", "--porcelain"].map(str::to_owned);
    let out = Git::of(call).run(call, &words)?;
    let kinds = [
        ('M', "modified"),
        ('A', "new"),
        ('D', "deleted"),
        ('?', "untracked"),
    ];
    let mut found = Map::new();
    for entry in out.split('\0').filter(|entry| entry.len() > 3) {
        let (state, file) = entry.split_at(3);
        for (sign, kind) in kinds {
            if state.contains(sign) {
                let list = found.get_or_insert_with(Value::from(kind), || Value::List(Vec::new()));
                if let Value::List(list) = list {
                    list.push(file.into());
                }
            }
        }
    }
    Ok(found.into())
}

pub(super) fn version(call: &Call<'_>) -> CallResult {
    let out = Git::default().run(call, &["--version".to_owned()])?;
    let version = out.rsplit(' ').next().unwrap_or_default().to_owned();
    if !call.flag("versioninfo") {
        return Ok(version.into());
    }
    let parts = version.split('.').map(|part| {
        part.parse::<i64>()
            .map_or_else(|_| part.into(), Value::from)
    });
    Ok(Value::List(parts.collect()))
}
