//! `queue.*`: named queues of texts that admins and reactors fill and empty.
//!
//! Mirrors `salt/runners/queue.py` with its `sqlite` backend of 3006; others are
//! modules in Python.

use halite_call::{
    extensions::{ExtensionKind, plugin},
    run_plugin, within_call,
};
use halite_proto::{Map, Value, python};
use halite_queue::{Inserted, QueueError, QueueName, Queues};

use super::Call;
use super::error::{Ran, RunnerError};
use super::queue_items::{items, text_to_data};
use super::table::{self, Function};
use crate::error::chain;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "queue.delete",
        "(queue, items, backend='sqlite')",
        delete,
        "Removes one or more items from a queue.",
    ),
    Function::new(
        "queue.insert",
        "(queue, items, backend='sqlite')",
        insert,
        "Puts one or more items at the end of a queue. An item is in a queue once.",
    ),
    Function::new(
        "queue.insert_runner",
        "(fun, args=None, kwargs=None, queue=None, backend=None)",
        insert_runner,
        "Puts a runner with its arguments at the end of a queue, to be run by\n\
         queue.process_runner. The queue is that of the option runner_queue unless one is given.",
    ),
    Function::new(
        "queue.list_items",
        "(queue, backend='sqlite')",
        list_items,
        "The items of a queue, the oldest first.",
    ),
    Function::new(
        "queue.list_length",
        "(queue, backend='sqlite')",
        list_length,
        "How many items are in a queue.",
    ),
    Function::new(
        "queue.list_queues",
        "(backend='sqlite')",
        list_queues,
        "The names of the queues.",
    ),
    Function::new(
        "queue.pop",
        "(queue, quantity=1, backend='sqlite', is_runner=False)",
        pop,
        "Removes the oldest items from a queue and returns them: a number of them, or all.",
    ),
    Function::new(
        "queue.process_queue",
        "(queue, quantity=1, backend='sqlite', is_runner=False)",
        process_queue,
        "Removes the oldest items from a queue and fires an event with them,\n\
         salt/queue/<queue>/process, for reactors.",
    ),
    Function::new(
        "queue.process_runner",
        "(quantity=1, queue=None, backend=None)",
        process_runner,
        "Removes the oldest runners from a queue and runs them, one after the other.",
    ),
];

const BACKEND: &str = "sqlite";

impl From<QueueError> for RunnerError {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Name { .. } | QueueError::TooLarge { .. } => {
                Self::BadArguments(error.to_string())
            }
            error => Self::Failed(chain(&error)),
        }
    }
}

/// A queue, and who keeps it.
struct NamedQueue {
    backend: Backend,
    queue: QueueName,
}

/// The backend that stores queues.
enum Backend {
    /// The files of Salt's sqlite.
    Files(Queues),
    /// A module in Python: one of users (`_queues`), or of an installed Salt.
    Python(String),
}

impl Backend {
    fn of(call: &Call<'_>, name: &str, fun: &str) -> Result<Self, RunnerError> {
        if name == BACKEND {
            return Ok(Self::Files(Queues::new(&call.runners.settings.queue_dir)));
        }
        let function = format!("{name}.{fun}");
        match plugin(
            call.runners.functions.context(),
            ExtensionKind::Queues,
            &function,
        ) {
            Some(_) => Ok(Self::Python(name.to_owned())),
            None => Err(RunnerError::BadArguments(format!(
                "Function \"{function}\" is not available"
            ))),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Files(_) => BACKEND,
            Self::Python(name) => name,
        }
    }
}

/// The result of a function of a backend in Python.
fn in_python(call: &Call<'_>, backend: &str, fun: &str, kwargs: Map) -> Ran {
    let function = format!("{backend}.{fun}");
    let context = call.runners.functions.context();
    let found = plugin(context, ExtensionKind::Queues, &function).ok_or_else(|| {
        RunnerError::BadArguments(format!("Function \"{function}\" is not available"))
    })?;
    let ran = within_call(context, &call.job(), |within| {
        run_plugin(within, found, Vec::new(), kwargs)
    });
    ran.map_err(|error| match error.trace() {
        Some(trace) => RunnerError::Python(trace.to_owned()),
        None => RunnerError::Failed(error.to_string()),
    })
}

impl NamedQueue {
    /// The same of a queue, where Python keeps it.
    fn in_python<const N: usize>(
        &self,
        call: &Call<'_>,
        fun: &str,
        more: [(&str, Value); N],
    ) -> Option<Ran> {
        let Backend::Python(backend) = &self.backend else {
            return None;
        };
        let mut kwargs = Map::from([("queue", self.queue.as_str())]);
        for (name, value) in more {
            kwargs.insert(name, value);
        }
        Some(in_python(call, backend, fun, kwargs))
    }

    fn files(&self) -> Result<&Queues, RunnerError> {
        match &self.backend {
            Backend::Files(queues) => Ok(queues),
            Backend::Python(name) => Err(RunnerError::Failed(format!(
                "the backend {name} keeps no files"
            ))),
        }
    }
}

fn place(call: &Call<'_>, fun: &str) -> Result<NamedQueue, RunnerError> {
    Ok(NamedQueue {
        backend: Backend::of(call, &python::str(call.arg("backend")), fun)?,
        queue: QueueName::parse(&python::str(call.arg("queue")))?,
    })
}

/// The same for queues of runners, with `runner_queue` for what is left out.
fn place_of_runners(call: &Call<'_>, fun: &str) -> Result<NamedQueue, RunnerError> {
    let option = call.runners.general.opts.get("runner_queue");
    let given = |name: &str| {
        let given = call.text(name);
        given.or_else(|| option?.get(name).and_then(Value::as_str))
    };
    let Some(queue) = given("queue") else {
        return Err(RunnerError::BadArguments(
            "no queue is given, and the option runner_queue is not set".to_owned(),
        ));
    };
    Ok(NamedQueue {
        backend: Backend::of(call, given("backend").unwrap_or(BACKEND), fun)?,
        queue: QueueName::parse(queue)?,
    })
}

fn insert(call: &Call<'_>) -> Ran {
    let place = place(call, "insert")?;
    put(call, &place, call.arg("items"))
}

fn put(call: &Call<'_>, place: &NamedQueue, given: &Value) -> Ran {
    if let Some(done) = place.in_python(call, "insert", [("items", given.clone())]) {
        return done;
    }
    let what = match given {
        Value::List(_) => "One or more items already exists",
        _ => "Item already exists",
    };
    Ok(match place.files()?.insert(&place.queue, &items(given)?)? {
        Inserted::All => true.into(),
        Inserted::Known { why } => format!("{what} in this queue. sqlite error: {why}").into(),
    })
}

fn delete(call: &Call<'_>) -> Ran {
    let place = place(call, "delete")?;
    if let Some(done) = place.in_python(call, "delete", [("items", call.arg("items").clone())]) {
        return done;
    }
    place
        .files()?
        .delete(&place.queue, &items(call.arg("items"))?)?;
    Ok(true.into())
}

fn list_queues(call: &Call<'_>) -> Ran {
    let names = match Backend::of(call, &python::str(call.arg("backend")), "list_queues")? {
        Backend::Files(queues) => queues.names()?,
        Backend::Python(name) => return in_python(call, &name, "list_queues", Map::new()),
    };
    let names = names.iter().map(|name| name.as_str().into());
    Ok(Value::List(names.collect()))
}

fn list_length(call: &Call<'_>) -> Ran {
    let place = place(call, "list_length")?;
    if let Some(done) = place.in_python(call, "list_length", []) {
        return done;
    }
    let length = place.files()?.length(&place.queue)?;
    Ok(i64::try_from(length).unwrap_or(i64::MAX).into())
}

fn list_items(call: &Call<'_>) -> Ran {
    let place = place(call, "list_items")?;
    if let Some(done) = place.in_python(call, "list_items", []) {
        return done;
    }
    Ok(texts(place.files()?.items(&place.queue)?))
}

fn texts(items: Vec<String>) -> Value {
    Value::List(items.into_iter().map(Value::from).collect())
}

fn pop(call: &Call<'_>) -> Ran {
    let place = place(call, "pop")?;
    taken(call, &place, call.flag("is_runner"))
}

/// Removes items and returns them.
fn taken(call: &Call<'_>, place: &NamedQueue, as_data: bool) -> Ran {
    let asked = [
        ("quantity", call.arg("quantity").clone()),
        ("is_runner", as_data.into()),
    ];
    if let Some(done) = place.in_python(call, "pop", asked) {
        return done;
    }
    let items = place.files()?.pop(&place.queue, quantity(call)?)?;
    if !as_data {
        return Ok(texts(items));
    }
    let data = |item: String| {
        text_to_data(&item).unwrap_or_else(|| {
            tracing::error!(
                queue = %place.queue,
                "an item of the queue does not describe a runner"
            );
            item.into()
        })
    };
    Ok(Value::List(items.into_iter().map(data).collect()))
}

fn quantity(call: &Call<'_>) -> Result<Option<u64>, RunnerError> {
    let given = call.arg("quantity");
    let text = python::str(given);
    if text == "all" {
        return Ok(None);
    }
    match text.trim().parse::<i64>() {
        // sqlite takes less than nothing for no limit.
        Ok(number) => Ok(u64::try_from(number).ok()),
        Err(_) => Err(RunnerError::BadArguments(format!(
            "Quantity must be an integer or \"all\".\nError: \"invalid literal for int() with \
             base 10: {}\".",
            python::repr(given)
        ))),
    }
}

fn process_queue(call: &Call<'_>) -> Ran {
    let place = place(call, "pop")?;
    processed(call, &place, call.flag("is_runner"))
}

fn processed(call: &Call<'_>, place: &NamedQueue, as_data: bool) -> Ran {
    let items = match taken(call, place, as_data) {
        Ok(items) => items,
        Err(RunnerError::BadArguments(why)) => {
            call.progress(Map::from([("errors", why)]));
            return Ok(false.into());
        }
        Err(error) => return Err(error),
    };
    let data = Map::from([
        ("items", items),
        ("backend", place.backend.name().into()),
        ("queue", place.queue.as_str().into()),
    ]);
    let bus = &call.runners.bus;
    bus.fire_under("queue", [place.queue.as_str(), "process"], data.clone());
    Ok(data.into())
}

fn insert_runner(call: &Call<'_>) -> Ran {
    let place = place_of_runners(call, "insert")?;
    let args = match call.arg("args") {
        Value::Nil => Vec::new(),
        Value::Str(text) => text.split(',').map(Value::from).collect(),
        Value::List(args) => args.clone(),
        one => vec![one.clone()],
    };
    let kwargs = match call.arg("kwargs") {
        Value::Map(kwargs) => kwargs.clone(),
        Value::Nil => Map::new(),
        _ => {
            let why = "kwargs must be a map".to_owned();
            return Err(RunnerError::BadArguments(why));
        }
    };
    let runner = Map::from([
        ("fun", call.arg("fun").clone()),
        ("args", args.into()),
        ("kwargs", kwargs.into()),
    ]);
    put(call, &place, &runner.into())
}

fn process_runner(call: &Call<'_>) -> Ran {
    let place = place_of_runners(call, "pop")?;
    let processed = processed(call, &place, true)?;
    let none = Vec::new();
    let runners = match processed.get("items") {
        Some(Value::List(runners)) => runners,
        _ => &none,
    };
    let mut failed = Vec::new();
    for runner in runners {
        if let Err(error) = run(call, runner) {
            // Those behind it are out of the queue already.
            let fun = runner.get("fun").map(python::str).unwrap_or_default();
            tracing::error!(%fun, "a queued runner failed: {}", chain(&error));
            failed.push(format!("{fun}: {}", chain(&error)));
            if matches!(error, RunnerError::Stopped(_)) {
                return Err(error);
            }
        }
    }
    match failed.is_empty() {
        true => Ok(Value::Nil),
        false => Err(RunnerError::Failed(failed.join("; "))),
    }
}

fn run(call: &Call<'_>, runner: &Value) -> Result<(), RunnerError> {
    let fun = runner.get("fun").and_then(Value::as_str);
    let fun =
        fun.ok_or_else(|| RunnerError::Failed("the item does not describe a runner".to_owned()))?;
    let args = runner.get("args").and_then(Value::as_list);
    let kwargs = runner.get("kwargs").and_then(Value::as_map);
    let found = table::find(call.runners, fun).map_err(|why| {
        let why = why.map(|why| format!(" {why}")).unwrap_or_default();
        RunnerError::Failed(format!("'{fun}' is not available.{why}"))
    })?;
    let nested = call.nested(
        &found,
        args.unwrap_or_default().to_vec(),
        kwargs.cloned().unwrap_or_default(),
    )?;
    found.run(&nested).map(drop)
}
