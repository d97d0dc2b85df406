//! Gives a job to other minions.

use halite_proto::{Map, Value};

use super::change::ask_to_delete;
use super::listing::{ListedPart, listed};
use super::{Report, flag};
use halite_call::{Call, CallResult};

pub(super) fn copy(call: &Call<'_>) -> CallResult {
    hand_on(call, false)
}

pub(super) fn move_(call: &Call<'_>) -> CallResult {
    hand_on(call, true)
}

/// Gives a job to other minions, by `publish.publish`.
fn hand_on(call: &Call<'_>, and_delete: bool) -> CallResult {
    let name = call.text("name");
    let (verb, title) = match and_delete {
        true => ("moved", "Moved"),
        false => ("copied", "Copied"),
    };
    if flag(call, "test", false) {
        let comment = format!("Job: {name} would be {verb} from schedule.");
        return Ok(Report::new(true, comment).into_value());
    }
    let jobs = listed(call, ListedPart::ALL);
    let Some(Value::Map(job)) = jobs.get(&name) else {
        return Ok(Report::new(false, format!("Job {name} does not exist.")).into_value());
    };
    let args = [
        call.arg("target").clone(),
        "schedule.add".into(),
        vec![Value::from(name.as_str()), as_arguments(job).into()].into(),
    ];
    let response = call.salt("publish.publish", &args, Map::new())?;
    let answers = response.as_map().cloned().unwrap_or_default();
    if answers.is_empty() {
        let comment = "no servers answered the published schedule.add command";
        return Ok(Report::new(true, comment).into_value());
    }
    let has_added = |answer: &Value| answer.get("result") == Some(&Value::Bool(true));
    let of = |added: bool| -> Vec<Value> {
        let chosen = answers
            .iter()
            .filter(|(_, answer)| has_added(answer) == added);
        chosen.map(|(minion, _)| minion.clone()).collect()
    };
    let errors = of(false);
    let is_done = errors.is_empty();
    let (comment, minions) = if is_done {
        if and_delete {
            ask_to_delete(call, &name);
        }
        let to = if and_delete { "" } else { " to minion(s)" };
        (format!("{title} Job {name} from schedule{to}."), of(true))
    } else {
        ("the following minions return False".to_owned(), errors)
    };
    let mut report = Report::new(is_done, comment).into_value();
    if let Some(report) = report.as_map_mut() {
        report.insert("minions", minions);
    }
    Ok(report)
}

/// A job as the arguments of `schedule.add` that make it.
fn as_arguments(job: &Map) -> Map {
    let mut arguments = Map::from([("__kwarg__", true)]);
    for (key, value) in job {
        match key.as_str().unwrap_or_default() {
            // The name is the first argument; that it is saved is no part of it.
            "name" | "saved" => {}
            "args" => {
                arguments.insert("job_args", value.clone());
            }
            "kwargs" => {
                arguments.insert("job_kwargs", value.clone());
            }
            _ => {
                arguments.insert(key.clone(), value.clone());
            }
        }
    }
    arguments
}
