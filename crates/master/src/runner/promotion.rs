//! `fileserver.promote`: all masters of a fleet serve the same commit.
//!
//! Invariant: no master is moved unless all of them have the commit.

use halite_proto::clear::Promotion;
use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::masters::{Asked, ask, meant_masters};
use super::table::Function;
use crate::files::promotion::promote;

pub(super) const PROMOTE: Function = Function::new(
    "fileserver.promote",
    "(commit, *masters, remote=None, saltenv='base', timeout=30)",
    run,
    "Pins an environment of a git remote to a commit, on this master and on the named ones,\n\
     which must have the same key; in a cluster, on all members if none is named. If one of\n\
     them does not have the commit yet, nothing is changed on any.\n\n\
     A commit is an id, or the present commit of a branch or tag; `latest` lets the\n\
     environment follow its branch again. remote is needed if there are several.",
);

fn run(call: &Call<'_>) -> Ran {
    let text = |name: &str| halite_proto::python::str(call.arg(name));
    let remote = call.arg("remote");
    let mut promotion = Promotion {
        remote: (!remote.is_nil()).then(|| text("remote")),
        saltenv: text("saltenv"),
        commit: text("commit"),
        sets: false,
    };
    let files = &call.runners.files;
    let failed = |why: String| RunnerError::Failed(format!("nothing was changed: {why}"));
    // The others are told an id: a branch may be another commit there.
    promotion.commit = promote(files, &promotion).map_err(failed)?;
    let masters = meant_masters(call);
    for master in &masters {
        tell(call, master, &promotion).map_err(|why| failed(format!("{master}: {why}")))?;
    }
    promotion.sets = true;
    let mut done = Map::new();
    promote(files, &promotion).map_err(failed)?;
    done.insert(call.runners.general.id.as_str(), promotion.commit.as_str());
    for master in &masters {
        match tell(call, master, &promotion) {
            Ok(commit) => done.insert(master.as_str(), commit),
            Err(why) => {
                call.retcode.set(1);
                done.insert(master.as_str(), format!("NOT changed: {why}"))
            }
        };
    }
    Ok(done.into())
}

/// Asks another master whether it can, or tells it to; the commit.
fn tell(call: &Call<'_>, master: &str, promotion: &Promotion) -> Result<String, String> {
    let timeout = call.seconds("timeout", std::time::Duration::from_secs(30));
    match ask(call, master, timeout, Some(promotion.clone())) {
        Asked::Facts { facts, .. } => {
            let text = |name: &str| facts.get(name).and_then(Value::as_str).map(str::to_owned);
            match (text("promoted"), text("refused")) {
                (Some(commit), None) if commit == promotion.commit => Ok(commit),
                (_, Some(why)) => Err(why),
                _ => Err("it does not support pinning a commit".to_owned()),
            }
        }
        Asked::OtherKey(fingerprint) => Err(format!("it has another master key: {fingerprint}")),
        Asked::Failed(why) => Err(why),
    }
}
