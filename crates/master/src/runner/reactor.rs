//! `reactor.*`: the rules of the reactor, while the master runs.

use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "reactor.add",
        "(event, reactors, saltenv='base', test=None)",
        add,
        "Adds reactors for events with a tag, until the master stops.",
    ),
    Function::new(
        "reactor.delete",
        "(event, saltenv='base', test=None)",
        delete,
        "Removes the reactors for events with a tag.",
    ),
    Function::new(
        "reactor.is_leader",
        "()",
        is_leader,
        "Whether this master reacts to events.",
    ),
    Function::new(
        "reactor.list",
        "(saltenv='base', test=None)",
        list,
        "The reactors: tags with their files.",
    ),
    Function::new(
        "reactor.set_leader",
        "(value=True)",
        set_leader,
        "Sets whether this master reacts to events.",
    ),
];

fn done(status: bool, comment: &str) -> Ran {
    Ok(Map::from([("status", Value::from(status)), ("comment", comment.into())]).into())
}

fn tag<'c>(call: &'c Call<'_>) -> Result<&'c str, RunnerError> {
    call.text("event")
        .ok_or_else(|| RunnerError::Failed("the event must be a tag, in text".to_owned()))
}

fn list(call: &Call<'_>) -> Ran {
    Ok(call.runners.reactor_rules.rules().to_value())
}

fn add(call: &Call<'_>) -> Ran {
    let tag = tag(call)?;
    let files: Vec<String> = match call.arg("reactors") {
        Value::Str(file) => vec![file.clone()],
        Value::List(files) => files
            .iter()
            .filter_map(|file| file.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    if files.is_empty() {
        return Err(RunnerError::Failed(
            "the reactors must be one file or a list of files".to_owned(),
        ));
    }
    match call.runners.reactor_rules.add(tag, files) {
        Ok(true) => done(true, "Reactor added."),
        Ok(false) => done(false, "Reactor already exists."),
        Err(why) => Err(RunnerError::Failed(why)),
    }
}

fn delete(call: &Call<'_>) -> Ran {
    match call.runners.reactor_rules.delete(tag(call)?) {
        true => done(true, "Reactor deleted."),
        false => done(false, "Reactor does not exists."),
    }
}

fn is_leader(call: &Call<'_>) -> Ran {
    Ok(call.runners.reactor_rules.is_leader().into())
}

fn set_leader(call: &Call<'_>) -> Ran {
    let value = call.flag("value");
    call.runners.reactor_rules.set_leader(value);
    Ok(value.into())
}
