//! Repositories of `ppa:`.
use halite_call::{Call, python};
use halite_proto::{Map, Value};

use super::{get_repo, grain, list};
use crate::pkg::apt::refresh;
use crate::pkg::error::PkgError;

/// Systems that know `ppa:` repositories.
pub(super) const WITH_PPA: &[&str] = &["Ubuntu", "Mint", "neon"];

/// The line of a `ppa:` repository; anything else as it is.
pub(super) fn of_ppa(call: &Call<'_>, repo: &str, auth: Option<&str>) -> String {
    let Some((owner, name)) = repo
        .strip_prefix("ppa:")
        .filter(|_| WITH_PPA.contains(&grain(call, "os").as_str()))
        .and_then(|rest| rest.split_once('/'))
    else {
        return repo.to_owned();
    };
    let dist = grain(call, "oscodename");
    match auth {
        Some(auth) => format!(
            "deb https://{auth}@private-ppa.launchpad.net/{owner}/{name}/ubuntu {dist} main"
        ),
        None => format!("deb http://ppa.launchpad.net/{owner}/{name}/ubuntu {dist} main"),
    }
}

pub(super) fn ppa_file(call: &Call<'_>, repo: &str) -> String {
    let name = repo.trim_start_matches("ppa:").replace('/', "-");
    let dist = grain(call, "oscodename");
    format!("/etc/apt/sources.list.d/{name}-{dist}.list")
}

pub(super) enum Ppa {
    Done(Map),
    Line(String),
}

pub(super) fn ppa(
    call: &Call<'_>,
    repo: &str,
    kwargs: &mut Map,
    refresh_after: bool,
) -> Result<Ppa, PkgError> {
    if !WITH_PPA.contains(&grain(call, "os").as_str()) {
        return Err(PkgError::command(format!(
            "cannot parse \"ppa:\" style repo definitions: {repo}"
        )));
    }
    let auth = kwargs.get("ppa_auth").map(python::str);
    if call.host().has("apt-add-repository") && auth.is_none() {
        let known = get_repo(call, repo, None)?;
        if !known.is_empty() {
            return Ok(Ppa::Done(Map::from([(repo, known)])));
        }
        let words = ["apt-add-repository", "-y", repo];
        let ran = crate::pkg::apt::run(call, || crate::pkg::apt::Tool::new(&words))?;
        if !ran.ok() {
            let list = list(words.iter().map(|word| (*word).to_owned()).collect());
            return Err(PkgError::command(format!(
                "Unable to add PPA '{}'. '{}' exited with status {}: '{}'",
                &repo[4..],
                python::repr(&list),
                ran.code,
                ran.stderr
            )));
        }
        if refresh_after {
            refresh(call, &Map::new())?;
        }
        let ran = Map::from([
            ("retcode", Value::from(ran.code)),
            ("stdout", ran.stdout.into()),
            ("stderr", ran.stderr.into()),
        ]);
        return Ok(Ppa::Done(Map::from([(repo, ran)])));
    }
    if !repo[4..].contains('/') {
        return Err(PkgError::command(format!(
            "Unable to get PPA info from argument. Expected format \"<PPA_OWNER>/<PPA_NAME>\" \
             (e.g. saltstack/salt) not found.  Received '{}' instead.",
            &repo[4..]
        )));
    }
    if !kwargs.contains_key("keyid") {
        return Err(PkgError::command(format!(
            "Without apt-add-repository a PPA needs its key: set keyid for {}",
            &repo[4..]
        )));
    }
    kwargs.insert("dist", grain(call, "oscodename"));
    if !kwargs.contains_key("file") {
        kwargs.insert("file", ppa_file(call, repo));
    }
    if !kwargs.contains_key("keyserver") {
        kwargs.insert("keyserver", "keyserver.ubuntu.com");
    }
    Ok(Ppa::Line(of_ppa(call, repo, auth.as_deref())))
}
