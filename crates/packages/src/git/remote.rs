//! Functions of remote repositories.

use halite_call::addresses::redacted;
use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::command::words_of;
use super::{Git, run};
use crate::only;

pub(super) fn ls_remote(call: &Call<'_>) -> CallResult {
    let remote = run::with_auth(
        &call.text("remote"),
        call.text_opt("https_user").as_deref(),
        call.text_opt("https_pass").as_deref(),
    )?;
    let mut words = vec!["ls-remote".to_owned()];
    words.extend(words_of(call, "opts"));
    words.push(remote);
    words.extend(call.text_opt("ref"));
    let out = Git::of(call).run(call, &words)?;
    Ok(run::parse_refs(&out).into_iter().collect::<Map>().into())
}

pub(super) fn remote_refs(call: &Call<'_>) -> CallResult {
    let kwargs = only(call, &["filter"])?;
    let url = run::with_auth(
        &call.text("url"),
        call.text_opt("https_user").as_deref(),
        call.text_opt("https_pass").as_deref(),
    )?;
    let mut words = vec!["ls-remote".to_owned()];
    for flag in ["heads", "tags"] {
        if call.flag(flag) {
            words.push(format!("--{flag}"));
        }
    }
    words.push(url);
    let filter = kwargs.get("filter").filter(|filter| filter.is_true());
    words.extend(filter.map(python::str));
    let out = Git::of(call).run(call, &words)?;
    Ok(run::parse_refs(&out).into_iter().collect::<Map>().into())
}

pub(super) fn remotes(call: &Call<'_>) -> CallResult {
    let remotes = Git::of(call).remotes(call)?;
    Ok(remotes
        .into_iter()
        .map(|(name, fetch, push)| {
            let shown = |url: String| {
                if call.flag("redact_auth") {
                    redacted(&url)
                } else {
                    url
                }
            };
            (
                name,
                Map::from([("fetch", shown(fetch)), ("push", shown(push))]),
            )
        })
        .collect::<Map>()
        .into())
}

pub(super) fn remote_get(call: &Call<'_>) -> CallResult {
    let name = call.text("remote");
    let all = remotes(call)?;
    all.get(&name).cloned().ok_or_else(|| {
        CallError::command(format!(
            "Remote '{name}' not present in git checkout located at {}",
            call.text("cwd")
        ))
    })
}

pub(super) fn remote_set(call: &Call<'_>) -> CallResult {
    let git = Git::of(call);
    let url = run::with_auth(
        &call.text("url"),
        call.text_opt("https_user").as_deref(),
        call.text_opt("https_pass").as_deref(),
    )?;
    let name = call.text("remote");
    git.set_remote(call, &name, &url)?;
    if let Some(push_url) = call.text_opt("push_url").filter(|url| !url.is_empty()) {
        let url = run::with_auth(
            &push_url,
            call.text_opt("push_https_user").as_deref(),
            call.text_opt("push_https_pass").as_deref(),
        )?;
        git.go(call, &["remote", "set-url", "--push", &name, &url])?;
    }
    let mut kwargs = Map::new();
    kwargs.insert("remote", call.arg("remote").clone());
    call.salt(
        "git.remote_get",
        std::slice::from_ref(call.arg("cwd")),
        kwargs,
    )
}

pub(super) fn fetch(call: &Call<'_>) -> CallResult {
    let refspecs: Vec<String> = match call.arg("refspecs") {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => python::texts(other),
    };
    let remote = call.text_opt("remote");
    let git = Git::of(call);
    let opts = words_of(call, "opts");
    Ok(git
        .fetch(
            call,
            remote.as_deref(),
            call.flag("force"),
            &refspecs,
            &opts,
        )?
        .into())
}
