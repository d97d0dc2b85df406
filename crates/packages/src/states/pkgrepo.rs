//! States of package repositories.

use halite_modules::{Call, CallResult, Function, Module, StateReturn, host, python};
use halite_proto::{Map, Value};

use crate::pkg::apt::repos;
use crate::pkg::error::PkgError;
use crate::pkg::repositories::Repositories;
use crate::pkg::rpm;

pub(crate) const MODULE: Module = Module {
    name: "pkgrepo",
    functions: &[
        Function::new(
            "pkgrepo.absent",
            "(name, **kwargs)",
            absent,
            "A repository is not set up.",
        ),
        Function::new(
            "pkgrepo.managed",
            "(name, ppa=None, copr=None, aptkey=True, **kwargs)",
            managed,
            "A repository is set up, with its key.",
        ),
    ],
};

/// Arguments of every state, which say nothing about a repository.
const INTERNAL: &[&str] = &[
    "aggregate",
    "check_cmd",
    "failhard",
    "fire_event",
    "fun",
    "listen",
    "listen_in",
    "name",
    "no_log",
    "onchanges",
    "onchanges_any",
    "onchanges_in",
    "onfail",
    "onfail_all",
    "onfail_any",
    "onfail_in",
    "onlyif",
    "order",
    "parallel",
    "prereq",
    "prereq_in",
    "reload_grains",
    "reload_modules",
    "reload_pillar",
    "require",
    "require_any",
    "require_in",
    "retry",
    "runas",
    "runas_password",
    "saltenv",
    "sfun",
    "state",
    "umask",
    "unless",
    "use",
    "use_in",
    "watch",
    "watch_any",
    "watch_in",
];

/// Ways to name a key that exclude each other.
const KEY_CONFLICTS: &[(&str, &[&str], &str)] = &[
    (
        "key_url",
        &["keyid", "keyserver"],
        "You may not use both \"keyid\"/\"keyserver\" and \"key_url\" argument.",
    ),
    (
        "key_text",
        &["keyid", "keyserver"],
        "You may not use both \"keyid\"/\"keyserver\" and \"key_text\" argument.",
    ),
    (
        "key_text",
        &["key_url"],
        "You may not use both \"key_url\" and \"key_text\" argument.",
    ),
];

/// What a state of a repository asks of the machine, for apt or for rpm.
struct Repo {
    name: String,
    repo: String,
    of: Repositories,
    apt: bool,
    family: String,
    kwargs: Map,
}

impl Repo {
    fn get(&self, call: &Call<'_>) -> Result<Map, PkgError> {
        self.of.get(call, &self.repo, &self.kwargs)
    }
}

fn family(call: &Call<'_>) -> String {
    let grains = call.ctx.grains();
    grains.get("os_family").map(python::str).unwrap_or_default()
}

fn managed(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::new(call.arg("name").clone());
    state.result = None;
    let of = match Repositories::of(call) {
        Ok(of) => of,
        Err(error) => return Ok(state.failed(error.to_string()).into()),
    };
    let repo = match read(call, of, &mut state) {
        Ok(repo) => repo,
        Err(comment) => return Ok(state.failed(comment).into()),
    };
    let pre = match repo.get(call) {
        Ok(pre) => pre,
        Err(error) => {
            return Ok(state
                .failed(format!("Failed to examine repo '{}': {error}", repo.name))
                .into());
        }
    };
    let mut wanted = if repo.apt {
        repos::expand(call, &repo.repo, &repo.kwargs)?
    } else {
        repo.kwargs.clone()
    };
    let mut pre = pre;
    if !pre.is_empty() && !has_stale_lines(call, &repo) {
        pre.remove("file");
        wanted.remove("file");
        if is_same(&repo, &wanted, &pre) {
            return Ok(state
                .ok(format!("Package repo '{}' already configured", repo.name))
                .into());
        }
    }
    if call.is_test() {
        return Ok(predict(state, &repo, &wanted, &pre).into());
    }
    Ok(carry_out(call, state, &repo, &wanted, &pre).into())
}

/// Reads the arguments; the comment when they make no sense.
fn read(call: &Call<'_>, of: Repositories, state: &mut StateReturn) -> Result<Repo, String> {
    let apt = of == Repositories::Apt;
    let mut kwargs = call.clean_kwargs();
    let has = |name: &str| kwargs.contains_key(name);
    if has("repo") {
        return Err(
            "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended."
                .to_owned(),
        );
    }
    // Salt goes on with these, and does not forget that they are wrong.
    for (one, others, words) in KEY_CONFLICTS {
        if has(one) && others.iter().any(|other| has(other)) {
            state.result = Some(false);
            state.comment = (*words).into();
        }
    }
    let (enabled, disabled) = (kwargs.remove("enabled"), kwargs.remove("disabled"));
    let given = |value: Option<Value>| value.filter(|value| !value.is_nil());
    let (mut enabled, disabled) = (given(enabled), given(disabled));
    match (&enabled, &disabled) {
        (Some(_), Some(_)) => return Err("Only one of enabled/disabled is allowed".to_owned()),
        (None, None) => enabled = Some(true.into()),
        _ => {}
    }
    let insecure_ok = kwargs
        .remove("allow_insecure_key")
        .is_none_or(|value| value.is_true());
    let url = kwargs.get("key_url").map(python::str).unwrap_or_default();
    if url.trim().starts_with("http:") && !insecure_ok {
        return Err(
            "Cannot have 'key_url' using http with 'allow_insecure_key' set to True".to_owned(),
        );
    }
    let name = call.text("name");
    let mut repo = name.clone();
    let family = family(call);
    let is_on = match (&enabled, &disabled) {
        (_, Some(disabled)) => !host::is_true(disabled),
        (Some(enabled), None) => host::is_true(enabled),
        (None, None) => true,
    };
    kwargs.retain(|key, _| !key.as_str().is_some_and(|key| INTERNAL.contains(&key)));
    if apt {
        if call.arg("ppa").is_true() {
            repo = format!("ppa:{}", call.text("ppa"));
        }
        kwargs.insert("disabled", !is_on);
    } else {
        if call.arg("copr").is_true() {
            repo = format!("copr:{}", call.text("copr"));
        }
        if let Some(human) = kwargs.remove("humanname") {
            kwargs.insert("name", human);
        } else {
            kwargs.insert("name", name.as_str());
        }
        kwargs.insert("enabled", is_on);
    }
    state.name = name.as_str().into();
    Ok(Repo {
        name,
        repo,
        of,
        apt,
        family,
        kwargs,
    })
}

/// With `clean_file`: whether the file has lines that are not this entry.
fn has_stale_lines(call: &Call<'_>, repo: &Repo) -> bool {
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
fn is_same(repo: &Repo, wanted: &Map, pre: &Map) -> bool {
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
            rpm::repos::comments_text(value) == rpm::repos::comments_text(old)
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

fn predict(state: StateReturn, repo: &Repo, wanted: &Map, pre: &Map) -> StateReturn {
    let wrong = state.result == Some(false);
    let mut state = state.pending(format!(
        "Package repo '{}' would be configured. This may cause pkg states to behave differently \
         than stated if this action is repeated without test=True, due to the differences in the \
         configured repositories.",
        repo.name
    ));
    if wrong {
        state.result = Some(false);
    }
    if pre.is_empty() {
        state.changes.insert("repo", repo.name.as_str());
        return state;
    }
    for (key, value) in wanted {
        let old = pre.get_value(key);
        if old != Some(value) {
            let change = Map::from([
                ("new", value.clone()),
                ("old", old.cloned().unwrap_or_default()),
            ]);
            state.changes.insert(key.clone(), change);
        }
    }
    state
}

fn carry_out(
    call: &Call<'_>,
    mut state: StateReturn,
    repo: &Repo,
    wanted: &Map,
    pre: &Map,
) -> StateReturn {
    if let Err(error) = configure(call, repo, wanted, pre) {
        return state.failed(format!("Failed to configure repo '{}': {error}", repo.name));
    }
    let post = match repo.get(call) {
        Ok(post) => post,
        Err(error) => {
            return state.failed(format!(
                "Failed to confirm config of repo '{}': {error}",
                repo.name
            ));
        }
    };
    if pre.is_empty() {
        state.changes.insert("repo", repo.repo.as_str());
    } else {
        for key in wanted.keys() {
            let (old, new) = (pre.get_value(key), post.get_value(key));
            if old != new {
                let change = Map::from([
                    ("new", new.cloned().unwrap_or_default()),
                    ("old", old.cloned().unwrap_or_default()),
                ]);
                state.changes.insert(key.clone(), change);
            }
        }
    }
    state.ok(format!("Configured package repo '{}'", repo.name))
}

fn configure(call: &Call<'_>, repo: &Repo, wanted: &Map, pre: &Map) -> Result<(), PkgError> {
    let mut kwargs = repo.kwargs.clone();
    if kwargs.get("clean_file").is_some_and(Value::is_true)
        && let Some(file) = kwargs.get("file").map(python::str)
    {
        host::replace_file(&call.host().path(&file), b"")
            .map_err(|error| PkgError::command(format!("{file}: {error}")))?;
    }
    if !repo.apt {
        repo.of.modify(call, &repo.repo, &kwargs)?;
        return Ok(());
    }
    if let (Some(new), Some(old)) = (wanted.get("uri"), pre.get("uri"))
        && new != old
        && !kwargs.contains_key("uri")
    {
        kwargs.insert("uri", new.clone());
    }
    kwargs.insert("aptkey", call.arg("aptkey").clone());
    let env = call
        .job
        .state
        .as_ref()
        .and_then(|state| state.low.get("__env__").cloned());
    kwargs.insert("saltenv", env.unwrap_or_else(|| "base".into()));
    repos::mod_repo(call, &repo.repo, &kwargs)?;
    Ok(())
}

/// The line with its place as apt compares it.
fn without_slash(repo: &str) -> String {
    repo.split_whitespace()
        .map(|word| {
            let is_place = ["http://", "https://", "ftp://"]
                .iter()
                .any(|scheme| word.starts_with(scheme));
            if is_place {
                word.trim_end_matches('/')
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn absent(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::new(call.arg("name").clone());
    let kwargs = call.clean_kwargs();
    let of = Repositories::of(call)?;
    let apt = of == Repositories::Apt;
    let mut name = call.text("name");
    let grains = call.ctx.grains();
    let os = grains.get("os").map(python::str).unwrap_or_default();
    if let Some(ppa) = kwargs.get("ppa").map(python::str)
        && ["Ubuntu", "Mint"].contains(&os.as_str())
    {
        name = format!("ppa:{}", ppa.trim_start_matches("ppa:"));
    }
    if let Some(copr) = kwargs.get("copr").map(python::str)
        && family(call) == "RedHat"
    {
        name = format!("copr:{}", copr.trim_start_matches("copr:"));
    }
    state.name = name.as_str().into();
    let repo = Repo {
        repo: if apt {
            without_slash(&name)
        } else {
            name.clone()
        },
        name: name.clone(),
        of,
        apt,
        family: family(call),
        kwargs: kwargs.clone(),
    };
    let found = match repo.get(call) {
        Ok(found) => found,
        Err(error) => {
            return Ok(state
                .failed(format!("Failed to configure repo '{name}': {error}"))
                .into());
        }
    };
    let mut is_there = !found.is_empty();
    if apt && is_there {
        let mut wanted = repos::architectures(&repo.repo)?;
        let mut has = found
            .get("architectures")
            .map(python::texts)
            .unwrap_or_default();
        wanted.sort();
        has.sort();
        is_there = wanted == has;
    }
    if !is_there {
        return Ok(state.ok(format!("Package repo {name} is absent")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "Package repo '{name}' will be removed. This may cause pkg states to behave \
                 differently than stated if this action is repeated without test=True, due to \
                 the differences in the configured repositories."
            ))
            .into());
    }
    if let Err(error) = of.delete(call, &repo.repo, &kwargs) {
        return Ok(state.failed(error.to_string()).into());
    }
    let left = if apt { Map::new() } else { of.list(call) };
    if left.contains_key(&repo.repo) {
        return Ok(state.failed(format!("Failed to remove repo {name}")).into());
    }
    state.changes.insert("repo", name.as_str());
    Ok(state.ok(format!("Removed repo {name}")).into())
}
