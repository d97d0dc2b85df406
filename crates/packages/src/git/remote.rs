//! Functions of remote repositories.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::command::{place, words_of};
use super::password::Place;
use super::{Git, run};
use crate::only;

pub(super) fn ls_remote(call: &Call<'_>) -> CallResult {
    let place = place(call, "remote")?;
    let mut words = vec!["ls-remote".to_owned()];
    words.extend(words_of(call, "opts"));
    words.push(place.url);
    words.extend(call.text_opt("ref"));
    let mut git = Git::of(call);
    git.login = place.login;
    let out = git.run(call, &words)?;
    Ok(run::parse_refs(&out).into_iter().collect::<Map>().into())
}

pub(super) fn remote_refs(call: &Call<'_>) -> CallResult {
    let kwargs = only(call, &["filter"])?;
    let place = place(call, "url")?;
    let mut words = vec!["ls-remote".to_owned()];
    for flag in ["heads", "tags"] {
        if call.flag(flag) {
            words.push(format!("--{flag}"));
        }
    }
    words.push(place.url);
    let filter = kwargs.get("filter").filter(|filter| filter.is_true());
    words.extend(filter.map(python::str));
    let mut git = Git::of(call);
    git.login = place.login;
    let out = git.run(call, &words)?;
    Ok(run::parse_refs(&out).into_iter().collect::<Map>().into())
}

pub(super) fn remotes(call: &Call<'_>) -> CallResult {
    let remotes = Git::of(call).remotes(call)?;
    Ok(remotes
        .into_iter()
        .map(|(name, fetch, push)| {
            let shown = |url: String| {
                if call.flag("redact_auth") {
                    without_login(&url)
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

/// A place with no name and no password, whatever a password is made of.
fn without_login(url: &str) -> String {
    let parts = url.split_once("://").and_then(|(protocol, rest)| {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (_, host) = authority.rsplit_once('@')?;
        Some(format!("{protocol}://<redacted>@{host}{path}"))
    });
    parts.unwrap_or_else(|| url.to_owned())
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
    let place = place(call, "url")?;
    let name = call.text("remote");
    git.set_remote(call, &name, &place.url)?;
    git.keep_password(call, &name, "url", &place)?;
    if let Some(push_url) = call.text_opt("push_url").filter(|url| !url.is_empty()) {
        let place = Place::new(
            &push_url,
            call.text_opt("push_https_user").as_deref(),
            call.text_opt("push_https_pass").as_deref(),
        )?;
        git.go(call, &["remote", "set-url", "--push", &name, &place.url])?;
        git.keep_password(call, &name, "pushurl", &place)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown_of_a_remote() {
        for login in ["u", "u:p", "u:p@q", "u:'\" #;"] {
            let url = format!("https://{login}@h:8443/a@b.git");
            assert_eq!(without_login(&url), "https://<redacted>@h:8443/a@b.git");
        }
        for plain in ["git@h:a.git", "https://h/a@b", "/srv/a@b", "https://h"] {
            assert_eq!(without_login(plain), plain);
        }
    }
}
