//! `salt.state`: a state run on many minions.

use halite_call::{Call, CallResult, MinionReturn, StateReturn, python};
use halite_proto::{Map, Value};

use super::minions::{Excused, command, insert_job_id, shown};
use super::{COMMANDING, told};

pub(super) fn state(call: &Call<'_>) -> CallResult {
    let mut ret = StateReturn::of(call);
    let Ok(allow_fail) = call.int("allow_fail") else {
        return Ok(shown(
            ret.failed("Passed invalid value for 'allow_fail', must be an int"),
        ));
    };
    let (fun, arg) = if call.flag("highstate") {
        ("state.highstate", None)
    } else if call.flag("top") {
        ("state.top", Some(call.arg("top").clone()))
    } else if call.flag("sls") {
        ("state.sls", Some(call.texts("sls").join(",").into()))
    } else {
        return Ok(shown(
            ret.failed("No highstate or sls specified, no execution made"),
        ));
    };
    let Value::Bool(concurrent) = call.arg("concurrent") else {
        return Ok(shown(
            ret.failed("Must pass in boolean for value of 'concurrent'"),
        ));
    };

    let mut command = command(call)?;
    command.fun = fun.to_owned();
    command.arg.extend(arg);
    command.kwarg = arguments(call, *concurrent);
    told::of_minions(call, "state", &call.text("name"), &command);
    let commander = call.ctx.commander(COMMANDING);
    let answer = match commander.and_then(|commander| commander.command_minions(&command)) {
        Ok(answer) => answer,
        Err(error) => return Ok(shown(ret.failed(error.to_string()))),
    };
    if answer.returns.is_empty() && call.flag("expect_minions") {
        return Ok(shown(ret.failed("No minions returned")));
    }
    insert_job_id(&mut ret, answer.jid.as_deref());
    let excused = Excused::read(call, &mut ret);
    let outcome = Outcome::of(&answer.returns, &excused);
    outcome.tell(&mut ret, allow_fail);
    let tried = command.kwarg.get("test").is_some_and(Value::is_true);
    if tried && ret.result == Some(true) && !ret.changes.is_empty() {
        ret.result = None;
    }
    Ok(shown(ret))
}

/// What the minions' `state.*` function is told by name.
fn arguments(call: &Call<'_>, concurrent: bool) -> Map {
    let mut kwargs = Map::new();
    match call.arg("test") {
        Value::Nil if call.is_test() => {
            kwargs.insert("test", true);
        }
        Value::Nil => {}
        test => {
            kwargs.insert("test", test.clone());
        }
    }
    if call.flag("pillar") {
        kwargs.insert("pillar", call.arg("pillar").clone());
    }
    for name in ["pillarenv", "saltenv", "exclude"] {
        if !call.arg(name).is_nil() {
            kwargs.insert(name, call.arg(name).clone());
        }
    }
    kwargs.insert("queue", call.arg("queue").clone());
    kwargs.insert("concurrent", concurrent);
    kwargs
}

/// What came of the runs.
struct Outcome {
    /// What is shown: the runs that changed something or failed.
    shown: Map,
    unchanged: Vec<String>,
    failed: Vec<String>,
    /// Why, where the returns do not say it themselves.
    details: Vec<String>,
}

impl Outcome {
    fn of(returns: &[MinionReturn], excused: &Excused) -> Self {
        let mut outcome = Self {
            shown: Map::new(),
            unchanged: Vec::new(),
            failed: Vec::new(),
            details: Vec::new(),
        };
        for of in returns {
            let ret = of.ret.clone().unwrap_or(Value::Bool(false));
            if holds(&ret) && !has_changes(&ret) {
                outcome.unchanged.push(of.id.clone());
                continue;
            }
            if !holds(&ret) && !excused.has(&of.id) {
                outcome.failed.push(of.id.clone());
                outcome.details.extend(detail(of));
            }
            outcome.shown.insert(of.id.as_str(), ret);
        }
        outcome
    }

    fn tell(self, ret: &mut StateReturn, allow_fail: i64) {
        let mut comment;
        let count = i64::try_from(self.failed.len()).unwrap_or(i64::MAX);
        if count <= allow_fail.max(0) {
            comment = "States ran successfully.".to_owned();
            // Those that were allowed to fail are among the shown ones.
            let shown = self.shown.keys().map(python::str).collect();
            for (what, ids) in [
                ("Updating", &shown),
                ("No changes made to", &self.unchanged),
            ] {
                let ids: &Vec<String> = ids;
                if !ids.is_empty() {
                    comment.push_str(&format!(" {what} {}.", ids.join(", ")));
                }
            }
        } else {
            ret.result = Some(false);
            comment = format!("Run failed on minions: {}", self.failed.join(", "));
            for detail in &self.details {
                comment.push('\n');
                comment.push_str(detail);
            }
        }
        ret.comment = comment.into();
        if !self.shown.is_empty() {
            ret.changes.insert("out", "highstate");
            ret.changes.insert("ret", self.shown);
        }
    }
}

/// Whether a run went well: a map of states none of which is false.
fn holds(ret: &Value) -> bool {
    let Value::Map(states) = ret else {
        return false;
    };
    states.values().all(|state| match state {
        Value::Map(state) => state.get("result") != Some(&Value::Bool(false)),
        _ => false,
    })
}

fn has_changes(ret: &Value) -> bool {
    ret.as_map().is_some_and(|states| {
        states.values().any(|state| {
            let changes = state.as_map().and_then(|state| state.get("changes"));
            changes.is_some_and(Value::is_true)
        })
    })
}

/// Why a minion has no results of states.
fn detail(of: &MinionReturn) -> Option<String> {
    let id = &of.id;
    match &of.ret {
        None | Some(Value::Bool(false)) => {
            Some(format!("Minion {id} did not return a state result."))
        }
        Some(Value::List(errors)) => {
            let errors: Vec<String> = errors.iter().map(python::str).collect();
            Some(format!(
                "Minion {id} returned errors: {}",
                errors.join("; ")
            ))
        }
        Some(Value::Str(text)) => Some(format!("Minion {id} returned: {text}")),
        Some(_) => None,
    }
}
