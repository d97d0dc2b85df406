//! `jobs.active`, `jobs.master` and `jobs.kill`: what runs now, on minions and
//! here.

use halite_proto::{Jid, Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::gather::Command;
use super::jobs::{formatted_with_time, returns, wanted};
use super::proc_files;
use super::registry;
use super::table::Function;
use crate::jobs::stop::Why;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "jobs.active",
        "(display_progress=False)",
        active,
        "The jobs that run on minions now, with where they run and who has returned.",
    ),
    Function::new(
        "jobs.kill",
        "(jid)",
        kill,
        "Ends a running runner, with the commands and the Python code that it has\n\
         started. Jobs of minions are ended by `salt '*' saltutil.kill_job <jid>`.",
    ),
    Function::new(
        "jobs.master",
        "()",
        master,
        "The runners that run on the master now.",
    ),
];

fn active(call: &Call<'_>) -> Ran {
    let command = Command::new(call, "*".into(), "glob", "saltutil.running");
    let tells = call.flag("display_progress");
    let tell = |message: String| {
        if tells {
            call.progress(Map::from([("message", message)]));
        }
    };
    if tells {
        let ids = call.targets()?.iter().map(Value::from).collect();
        let ids = halite_proto::python::repr(&Value::List(ids));
        tell(format!("Attempting to contact minions: {ids}"));
    }
    let mut jobs: Vec<(Jid, Map)> = Vec::new();
    for row in call.command(&command)? {
        tell(format!("Received reply from minion {}", row.id));
        let running = match row.ret {
            Value::List(running) if !row.is_missing => running,
            _ => continue,
        };
        for job in running.iter().filter_map(Value::as_map) {
            let jid = job.get("jid").and_then(Value::as_str);
            let Some(jid) = jid.and_then(|jid| Jid::parse(jid).ok()) else {
                continue;
            };
            let pid = job.get("pid").cloned().unwrap_or_default();
            let place = Value::from(Map::from([(row.id.as_str(), pid)]));
            match jobs.iter_mut().find(|(known, _)| *known == jid) {
                Some((_, known)) => {
                    if let Some(Value::List(places)) = known.get_mut("Running") {
                        places.push(place);
                    }
                }
                None => {
                    let mut shown = formatted_with_time(&jid, Some(job.clone()));
                    shown.insert("Running", vec![place]);
                    jobs.push((jid, shown));
                }
            }
        }
    }
    let mut active = Map::new();
    for (jid, mut job) in jobs {
        let returned = returns(call, &jid)?.into_iter();
        job.insert(
            "Returned",
            Value::List(returned.map(|(id, _)| id.into()).collect()),
        );
        active.insert(&jid, job);
    }
    Ok(active.into())
}

fn kill(call: &Call<'_>) -> Ran {
    let jid = wanted(call)?;
    if jid == *call.jid {
        return Err(RunnerError::Failed("a runner cannot end itself".to_owned()));
    }
    let runs = call.runners.registry.runs(&jid);
    for run in &runs {
        tracing::info!(user = call.user, %jid, "stopping the runner {}", run.fun());
        registry::stop(call.runners, call.runtime, run, Why::Asked);
    }
    Ok((!runs.is_empty()).into())
}

fn master(call: &Call<'_>) -> Ran {
    Ok(proc_files::running(&call.runners.general.cachedir).into())
}
