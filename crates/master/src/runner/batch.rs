//! `batch.*`: jobs in batches without a waiting program (`salt --async -b`).

use halite_proto::{Jid, Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::gather::Command;
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "batch.list_active",
        "()",
        list_active,
        "The jobs in batches that run in the master, without a program that waits for them.",
    ),
    Function::new(
        "batch.status",
        "(jid)",
        status,
        "The progress of a job in batches.",
    ),
    Function::new(
        "batch.stop",
        "(jid, kill=False)",
        stop,
        "Stops a job in batches: no further minions get it. With `kill=True` those that run it\n\
         end it, too.",
    ),
];

fn jid(call: &Call<'_>) -> Result<Jid, RunnerError> {
    call.jid_arg("jid").ok_or_else(|| {
        let given = halite_proto::python::repr(call.arg("jid"));
        RunnerError::Failed(format!("{given} is not a job id"))
    })
}

fn list_active(call: &Call<'_>) -> Ran {
    let active = call.runners.batches.active().into_iter();
    Ok(Value::List(
        active.map(|job| job.summary().into()).collect(),
    ))
}

fn status(call: &Call<'_>) -> Ran {
    let job = call.runners.batches.find(&jid(call)?);
    Ok(job.map_or(Value::Nil, |job| job.summary().into()))
}

fn stop(call: &Call<'_>) -> Ran {
    let jid = jid(call)?;
    let Some(job) = call.runners.batches.find(&jid).filter(|job| job.stop()) else {
        return Ok(false.into());
    };
    call.runners.bus.fire(
        &format!("salt/batch/{jid}/stop"),
        Map::from([("jid", Value::from(&job.jid)), ("reason", "stop".into())]),
    );
    if call.flag("kill") {
        let mut command = Command::new(call, "*".into(), "glob", "saltutil.kill_job");
        command.arg = vec![Value::from(&jid)];
        call.command(&command)?;
    }
    Ok(true.into())
}
