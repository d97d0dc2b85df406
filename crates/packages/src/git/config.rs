//! Functions of git's configuration.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::Git;
use super::command::texts;
use crate::only;

/// `--global` or the repository of `cwd`.
pub(crate) fn config_words(global: bool) -> Vec<String> {
    let mut words = vec!["config".to_owned()];
    words.push(if global { "--global" } else { "--local" }.to_owned());
    words
}

pub(super) fn is_global(call: &Call<'_>) -> bool {
    call.kwargs().get("global").is_some_and(Value::is_true)
}

/// All values of a key.
pub(crate) fn config_values(
    call: &Call<'_>,
    git: &Git,
    global: bool,
    key: &str,
) -> Result<Vec<String>, CallError> {
    let mut words = config_words(global);
    words.extend(["--get-all".to_owned(), key.to_owned()]);
    let ran = git.may_fail(call, &words)?;
    Ok(if ran.ok() {
        ran.stdout.lines().map(str::to_owned).collect()
    } else {
        Vec::new()
    })
}

pub(super) fn config_get(call: &Call<'_>) -> CallResult {
    let git = Git::of(call);
    let values = config_values(call, &git, is_global(call), &call.text("key"))?;
    if call.kwargs().get("all").is_some_and(Value::is_true) {
        return Ok(texts(values));
    }
    Ok(values.into_iter().next().unwrap_or_default().into())
}

pub(super) fn config_get_regexp(call: &Call<'_>) -> CallResult {
    let kwargs = only(call, &["global"])?;
    let mut words = config_words(kwargs.get("global").is_some_and(Value::is_true));
    words.extend(["--get-regexp".to_owned(), call.text("key")]);
    words.extend(call.text_opt("value_regex").filter(|text| !text.is_empty()));
    let git = Git::of(call);
    let ran = git.may_fail(call, &words)?;
    let mut found = Map::new();
    // 1: nothing matches.
    if ran.code > 1 {
        return Err(git.failed(&words, &ran));
    }
    for (key, value) in ran.stdout.lines().filter_map(|line| line.split_once(' ')) {
        let values = found.get_or_insert_with(Value::from(key), || Value::List(Vec::new()));
        if let Value::List(values) = values {
            values.push(value.into());
        }
    }
    Ok(found.into())
}

pub(super) fn config_set(call: &Call<'_>) -> CallResult {
    let (git, global, key) = (Git::of(call), is_global(call), call.text("key"));
    let values = match call.arg("multivar") {
        Value::List(items) => items.iter().map(python::str).collect(),
        _ => vec![call.text("value")],
    };
    set_config(call, &git, global, &key, &values)?;
    Ok(texts(config_values(call, &git, global, &key)?))
}

/// Makes these the values of a key.
pub(crate) fn set_config(
    call: &Call<'_>,
    git: &Git,
    global: bool,
    key: &str,
    values: &[String],
) -> Result<(), CallError> {
    for (at, value) in values.iter().enumerate() {
        let mut words = config_words(global);
        words.push(if at == 0 { "--replace-all" } else { "--add" }.to_owned());
        words.extend([key.to_owned(), value.clone()]);
        git.run(call, &words)?;
    }
    Ok(())
}

pub(super) fn config_unset(call: &Call<'_>) -> CallResult {
    let mut words = config_words(is_global(call));
    let all = call.kwargs().get("all").is_some_and(Value::is_true);
    words.push(if all { "--unset-all" } else { "--unset" }.to_owned());
    words.push(call.text("key"));
    words.extend(call.text_opt("value_regex"));
    Git::of(call).run(call, &words)?;
    Ok(true.into())
}
