//! `salt-call`: its output and exit code. The minion, which the program passes in,
//! runs the function.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;

use halite_proto::{Jid, Map, Value};
use halite_transport::Endpoint;
use halite_transport::ipc::EventSubscriber;

use crate::display::Display;
use crate::environment::Environment;
use crate::events::{self, End, Wish};
use crate::options::{CallOptions, Stop};
use crate::{Exit, Screen, args, start};

/// What the minion is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Run a function.
    Call(CallRequest),
    /// Collect the grains.
    Grains,
    /// Say where the bus is whose events are to be shown.
    Bus(Wish),
    /// Give the documentation of the functions whose names begin with this.
    Docs(String),
}

/// A function to run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRequest {
    /// Its name.
    pub fun: String,
    /// Its arguments; keywords are a last map marked `__kwarg__`.
    pub args: Vec<Value>,
    /// Data that is kept with the job.
    pub metadata: Option<Value>,
    /// Returners that the result is sent to, too.
    pub returners: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum CallOutcome {
    /// The function returned.
    Returned(CallReturn),
    /// The grains.
    Grains(Map),
    /// Documentation by function.
    Docs(BTreeMap<String, String>),
    /// Where the bus is, and what is wished for.
    Bus(Endpoint, Wish),
    /// There is no such function; the text says which, and why.
    NotAvailable(String),
    /// What the function does went wrong.
    CommandFailed(String),
    /// The arguments do not fit the function.
    BadArguments {
        /// Why.
        text: String,
        /// The function's documentation.
        doc: String,
    },
    /// Anything else went wrong in the function.
    Exception(String),
    /// The master has not accepted this minion's key.
    KeyPending,
    /// No master could be used, or nothing could be started; the text says why.
    Failed(String),
    /// The user to run as does not exist.
    NoUser(String),
    /// A signal ended the program, and with it the function.
    Interrupted,
}

/// What a function returned.
#[derive(Clone, Debug)]
pub struct CallReturn {
    /// The job.
    pub jid: Jid,
    /// The minion's id.
    pub id: String,
    /// What was returned.
    pub value: Value,
    /// The return code.
    pub retcode: i64,
    /// The outputter it asks for.
    pub out: Option<String>,
}

/// The key under which results are shown.
const LOCAL: &str = "local";

/// Runs `salt-call` with the minion's merged configuration `opts`.
pub fn run(
    options: &CallOptions,
    opts: &Map,
    environment: &Environment,
    screen: &mut Screen,
    execute: impl FnOnce(Work) -> CallOutcome,
) -> Exit {
    let (work, mut display) = match prepared(options, opts, environment, screen) {
        Ok(prepared) => prepared,
        Err(stop) => return stop.show(screen),
    };
    if let Some(warning) = options.ignored_roots() {
        screen.error_line(&warning);
    }
    let fun = match &work {
        Work::Call(request) => request.fun.clone(),
        Work::Bus(_) => EVENT.to_owned(),
        Work::Grains | Work::Docs(_) => String::new(),
    };
    match execute(work) {
        CallOutcome::Bus(bus, wish) => watch(&bus, &wish, &mut display, screen),
        CallOutcome::Returned(returned) => show(options, &fun, returned, &mut display, screen),
        CallOutcome::Grains(grains) => {
            display.show(screen, &local(grains.into()), None, 0);
            Exit::Ok
        }
        CallOutcome::Docs(docs) => {
            for (name, text) in docs {
                screen.text(&format!("{name}:\n{text}\n\n"));
            }
            Exit::Ok
        }
        CallOutcome::NotAvailable(text) => {
            screen.error_line(&text);
            Exit::NoFunction
        }
        CallOutcome::CommandFailed(text) => {
            screen.error_line(&format!("Error running '{fun}': {text}"));
            Exit::Failure
        }
        CallOutcome::BadArguments { text, doc } => {
            screen.error_text(&format!("\nPassed invalid arguments: {text}.\n\nUsage:\n"));
            screen.line(&doc);
            Exit::Failure
        }
        CallOutcome::Exception(text) | CallOutcome::Failed(text) => {
            screen.error_line(&text);
            Exit::Failure
        }
        CallOutcome::KeyPending => {
            screen.line(KEY_PENDING);
            Exit::KeyPending
        }
        CallOutcome::Interrupted => {
            screen.error_line("\nExiting gracefully on Ctrl-c");
            Exit::Failure
        }
        CallOutcome::NoUser(text) => {
            screen.error_line(&text);
            Exit::NoUser
        }
    }
}

/// The function that this program carries out itself, since it writes as it
/// goes.
const EVENT: &str = "state.event";

/// Shows the events of a bus; in the end nothing, which is what the function
/// returns.
fn watch(bus: &Endpoint, wish: &Wish, display: &mut Display, screen: &mut Screen) -> Exit {
    let runtime = match start::runtime() {
        Ok(runtime) => runtime,
        Err(stop) => return stop.show(screen),
    };
    let end = runtime.block_on(async {
        let connect = async || EventSubscriber::connect(bus).await;
        events::show(connect, wish, screen).await
    });
    match end {
        Ok(End::Enough) => {
            display.show(screen, &local(Value::Nil), None, 0);
            Exit::Ok
        }
        Ok(End::Interrupted) => {
            screen.error_line("\nExiting gracefully on Ctrl-c");
            Exit::Failure
        }
        Err(error) => {
            let whose = &wish.node;
            let text = crate::chain(&error);
            screen.error_line(&format!(
                "no {whose} runs here whose events could be shown: {text}"
            ));
            Exit::Failure
        }
    }
}

/// The wish that the arguments of `state.event` are.
fn wished(args: Vec<Value>) -> Result<Wish, Stop> {
    let (args, kwargs) = args::split(args);
    let wish = Wish::new(args, kwargs, "minion").and_then(|wish| match wish.node.as_str() {
        "minion" | "master" => Ok(wish),
        other => Err(format!("there is no bus of a '{other}'")),
    });
    wish.map_err(|why| Stop {
        stdout: String::new(),
        stderr: format!("\nPassed invalid arguments: {why}\n"),
        exit: Exit::Failure,
    })
}

const KEY_PENDING: &str =
    "Minion failed to authenticate with the master, has the minion key been accepted?";

fn prepared(
    options: &CallOptions,
    opts: &Map,
    environment: &Environment,
    screen: &Screen,
) -> Result<(Work, Display), Stop> {
    options.check()?;
    let no_color = environment.no_color.as_deref();
    let display = Display::new(opts, &options.output, screen, no_color);
    let mut display = display.map_err(|error| Stop {
        stdout: String::new(),
        stderr: format!("salt-call: error: {}\n", crate::chain(&error)),
        exit: Exit::Failure,
    })?;
    if options.output_diff {
        display.only_changes();
    }
    let mut words = options.words.iter();
    let fun = words.next().cloned().unwrap_or_default();
    if options.doc {
        return Ok((Work::Docs(fun), display));
    }
    if options.grains {
        return Ok((Work::Grains, display));
    }
    let no_parse = options
        .parse
        .no_parse_names(environment.no_parse.as_deref());
    let words: Vec<&String> = words.collect();
    let args = args::parse(&words, &no_parse);
    display.filter_by_arguments(&args);
    if fun == EVENT {
        return Ok((Work::Bus(wished(args)?), display));
    }
    let returners = options.returners.as_deref().unwrap_or_default().split(',');
    Ok((
        Work::Call(CallRequest {
            fun,
            args,
            metadata: options.set_metadata.as_deref().map(args::yamlify),
            returners: returners
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        }),
        display,
    ))
}

fn show(
    options: &CallOptions,
    fun: &str,
    returned: CallReturn,
    display: &mut Display,
    screen: &mut Screen,
) -> Exit {
    let retcode = returned.retcode;
    // The program ends with this: a large result is not taken apart before.
    if options.metadata {
        let data = ManuallyDrop::new(local(metadata(options, fun, returned)));
        display.show(screen, &data, None, retcode);
    } else {
        let data = ManuallyDrop::new(local(returned.value));
        display.show(screen, &data, returned.out.as_deref(), retcode);
    }
    if options.retcode_passthrough {
        Exit::Passthrough(retcode)
    } else if retcode == 0 {
        Exit::Ok
    } else {
        Exit::Failure
    }
}

/// The job as `--metadata` shows it: the words as they were given.
fn metadata(options: &CallOptions, fun: &str, returned: CallReturn) -> Value {
    let words = options.words.iter().skip(1);
    let mut data = Map::from([
        ("jid", Value::from(&returned.jid)),
        ("return", returned.value),
        ("retcode", returned.retcode.into()),
    ]);
    if let Some(out) = &returned.out {
        data.insert("out", out.as_str());
    }
    data.insert("id", returned.id.as_str());
    data.insert("fun", fun);
    data.insert(
        "fun_args",
        Value::List(words.map(|word| word.as_str().into()).collect()),
    );
    if let Some(metadata) = &options.set_metadata {
        data.insert("metadata", args::yamlify(metadata));
    }
    data.into()
}

fn local(value: Value) -> Value {
    Map::from([(LOCAL, value)]).into()
}

#[cfg(test)]
mod tests;
