//! The repository that is asked for.

use halite_call::{Call, StateReturn, host, python};
use halite_proto::{Map, Value};

use crate::pkg::error::PkgError;
use crate::pkg::repositories::Repositories;

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
pub(super) struct Repo {
    pub(super) name: String,
    pub(super) repo: String,
    pub(super) of: Repositories,
    pub(super) apt: bool,
    pub(super) family: String,
    pub(super) kwargs: Map,
}

impl Repo {
    pub(super) fn get(&self, call: &Call<'_>) -> Result<Map, PkgError> {
        self.of.get(call, &self.repo, &self.kwargs)
    }
}

pub(super) fn family(call: &Call<'_>) -> String {
    let grains = call.ctx.grains();
    grains.get("os_family").map(python::str).unwrap_or_default()
}

/// Reads the arguments; the comment when they make no sense.
pub(super) fn read(
    call: &Call<'_>,
    of: Repositories,
    state: &mut StateReturn,
) -> Result<Repo, String> {
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
    let is_on = take_enabled(&mut kwargs)?;
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

/// Takes `enabled` and `disabled` from the arguments. A repository is enabled unless one
/// of them says otherwise.
fn take_enabled(kwargs: &mut Map) -> Result<bool, String> {
    let given = |value: Option<Value>| value.filter(|value| !value.is_nil());
    let enabled = given(kwargs.remove("enabled"));
    let disabled = given(kwargs.remove("disabled"));
    match (&enabled, &disabled) {
        (Some(_), Some(_)) => Err("Only one of enabled/disabled is allowed".to_owned()),
        (None, Some(disabled)) => Ok(!host::is_true(disabled)),
        (Some(enabled), None) => Ok(host::is_true(enabled)),
        (None, None) => Ok(true),
    }
}
