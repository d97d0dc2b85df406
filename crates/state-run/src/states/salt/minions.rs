//! What `salt.state` and `salt.function` have in common: their targets, and which
//! minions' failures count.

use std::time::Duration;

use halite_call::{Call, CallError, MinionsCommand, StateReturn, python};
use halite_proto::{Map, Value};

/// The command that the arguments of a state describe, without function and
/// arguments.
pub(super) fn command(call: &Call<'_>) -> Result<MinionsCommand, CallError> {
    if call.flag("ssh") {
        return Err(CallError::invocation(
            "ssh: minions are reached over their masters only; salt-ssh is not part of this program",
        ));
    }
    for name in ["ret_config", "ret_kwargs"] {
        if call.flag(name) {
            return Err(CallError::invocation(format!("{name} is not supported")));
        }
    }
    Ok(MinionsCommand {
        tgt: call.arg("tgt").clone(),
        tgt_type: call.text("tgt_type"),
        ret: call.text("ret"),
        timeout: timeout(call, "timeout"),
        batch: call.text_opt("batch"),
        subset: match call.arg("subset") {
            Value::Nil => None,
            _ => usize::try_from(call.int("subset")?).ok(),
        },
        failhard: call.flag("failhard") || call.opt("failhard").is_true(),
        ..MinionsCommand::default()
    })
}

/// An argument that is a number of seconds.
pub(super) fn timeout(call: &Call<'_>, name: &str) -> Option<Duration> {
    let value = call.arg(name);
    let seconds = value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Minions whose failure does not count.
pub(super) struct Excused(Vec<String>);

impl Excused {
    /// Reads `fail_minions`; a value of another type is warned about in `ret`.
    pub(super) fn read(call: &Call<'_>, ret: &mut StateReturn) -> Self {
        Self(match call.arg("fail_minions") {
            Value::Nil => Vec::new(),
            Value::Str(text) => text.split(',').map(|id| id.trim().to_owned()).collect(),
            Value::List(ids) => ids.iter().map(python::str).collect(),
            _ => {
                warn(
                    ret,
                    "'fail_minions' needs to be a list or a comma separated string. Ignored.",
                );
                Vec::new()
            }
        })
    }

    /// Whether the failure of this minion does not count.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|excused| excused == id)
    }
}

/// Adds a warning.
pub(super) fn warn(ret: &mut StateReturn, text: &str) {
    let warnings = ret
        .more
        .get_or_insert_with("warnings", || Value::List(Vec::new()));
    if let Value::List(warnings) = warnings {
        warnings.push(text.into());
    }
}

/// The result with its fields in the order of Salt's states of this module.
pub(super) fn shown(ret: StateReturn) -> Value {
    let mut fields = Map::from([
        ("name", ret.name),
        ("changes", ret.changes.into()),
        ("comment", ret.comment),
        ("result", ret.result.map_or(Value::Nil, Value::Bool)),
    ]);
    fields.extend(ret.more);
    fields.into()
}

/// Names the job in the result.
pub(super) fn insert_job_id(ret: &mut StateReturn, jid: Option<&str>) {
    if let Some(jid) = jid {
        ret.more.insert("__jid__", jid);
    }
}

/// The arguments of a runner or wheel function: `arg` by position, `kwarg` and
/// whatever else the state was given by name.
pub(super) fn arguments(call: &Call<'_>) -> (Vec<Value>, Map) {
    let mut kwargs = call.clean_kwargs();
    kwargs.retain(|key, _| !key.as_str().is_some_and(|key| OF_THE_RUN.contains(&key)));
    let args = match kwargs.remove("arg") {
        Some(Value::List(args)) => args,
        None | Some(Value::Nil) => Vec::new(),
        Some(one) => vec![one],
    };
    if let Some(Value::Map(named)) = kwargs.remove("kwarg") {
        kwargs.extend(named);
    }
    (args, kwargs)
}

/// Arguments of a low chunk that are for the run.
const OF_THE_RUN: &[&str] = &[
    "fun",
    "full_return",
    "order",
    "parallel",
    "state",
    "require",
    "watch",
    "onchanges",
    "onfail",
    "prereq",
    "listen",
    "require_in",
    "watch_in",
    "onchanges_in",
    "onfail_in",
    "prereq_in",
    "listen_in",
    "failhard",
    "onlyif",
    "unless",
    "retry",
    "name_order",
];
