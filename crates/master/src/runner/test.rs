//! `test.*` and `error.*`: for trying runners.

use std::time::Duration;

use halite_proto::{Map, Value};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "error.error",
        "(name=None, message='')",
        error,
        "Raises the given error, or does nothing.",
    ),
    Function::new(
        "test.arg",
        "(*args, **kwargs)",
        arg,
        "Returns its arguments.",
    ),
    Function::new(
        "test.get_opts",
        "()",
        get_opts,
        "The master's configuration.",
    ),
    Function::new(
        "test.metasyntactic",
        "(locality='us')",
        metasyntactic,
        "A fixed test text.",
    ),
    Function::new(
        "test.raw_arg",
        "(*args, **kwargs)",
        raw_arg,
        "Returns its arguments, including those whose names begin with `__`.",
    ),
    Function::new(
        "test.sleep",
        "(s_time=10)",
        sleep_for,
        "Waits for some seconds.",
    ),
    Function::new(
        "test.stdout_print",
        "()",
        stdout_print,
        "Prints a word and returns another one.",
    ),
    Function::new(
        "test.stream",
        "()",
        stream,
        "Reports progress for ten seconds.",
    ),
];

fn arg(call: &Call<'_>) -> Ran {
    let mut kwargs = call.bound.kwargs.clone();
    kwargs.retain(|name, _| !name.as_str().is_some_and(|name| name.starts_with("__")));
    given(call, kwargs)
}

fn raw_arg(call: &Call<'_>) -> Ran {
    given(call, call.bound.kwargs.clone())
}

fn given(call: &Call<'_>, kwargs: Map) -> Ran {
    let args = call.bound.varargs.clone();
    Ok(Map::from([("args", Value::List(args)), ("kwargs", kwargs.into())]).into())
}

fn get_opts(call: &Call<'_>) -> Ran {
    Ok(call.runners.general.opts.clone().into())
}

fn metasyntactic(call: &Call<'_>) -> Ran {
    const US: [&str; 14] = [
        "foo", "bar", "baz", "qux", "quux", "quuz", "corge", "grault", "garply", "waldo", "fred",
        "plugh", "xyzzy", "thud",
    ];
    const UK: [&str; 4] = ["wibble", "wobble", "wubble", "flob"];
    let words: &[&str] = match call.text("locality") {
        Some("us") => &US,
        Some("uk") => &UK,
        _ => return Ok(Value::Nil),
    };
    Ok(Value::List(
        words.iter().map(|word| Value::from(*word)).collect(),
    ))
}

fn sleep_for(call: &Call<'_>) -> Ran {
    let time = call.arg("s_time");
    call.print(halite_proto::python::str(time));
    if time.as_f64().is_none() {
        return Err(RunnerError::BadArguments(format!(
            "'{}' object cannot be interpreted as an integer",
            time.type_name()
        )));
    }
    call.wait(call.seconds("s_time", Duration::ZERO))?;
    Ok(true.into())
}

fn stdout_print(call: &Call<'_>) -> Ran {
    call.print("foo");
    Ok("bar".into())
}

fn stream(call: &Call<'_>) -> Ran {
    const STEP: Duration = Duration::from_millis(100);
    for percent in 1..100 {
        let message = format!("Runner is {percent}% done");
        call.progress(Map::from([("message", message)]));
        call.wait(STEP)?;
    }
    Ok(true.into())
}

fn error(call: &Call<'_>) -> Ran {
    match call.text("name") {
        None => Ok(Map::new().into()),
        Some(name) => {
            let message = halite_proto::python::str(call.arg("message"));
            Err(RunnerError::Failed(format!("{name}: {message}")))
        }
    }
}
