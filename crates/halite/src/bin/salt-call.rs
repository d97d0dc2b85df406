//! `salt-call`: one function, here and now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use halite::minion;
use halite_call::{CallError as FunctionError, Cancel, Failure, Outcome};
use halite_cli::call::{self, CallOutcome, CallRequest, CallReturn, Work};
use halite_cli::events::Wish;
use halite_cli::options::{CallOptions, parse_everything};
use halite_cli::{Environment, Exit, Screen, args, start};
use halite_config::{HostNames, LoadOptions, MinionConfig, load_minion};
use halite_grains::Want;
use halite_minion::call::{CallError, Request};
use halite_minion::context::local::LocalContext;
use halite_minion::returners::ChosenReturners;
use halite_process::clock::unix_micros;
use halite_process::privileges::{self, User};
use halite_process::shutdown::Signals;
use halite_proto::{Jid, Map, Value, time};
use halite_transport::Endpoint;

fn main() -> ExitCode {
    halite_process::memory::grow_in_steps();
    halite_process::file_size::exceeding_is_an_error();
    let mut screen = Screen::standard();
    let environment = Environment::of_process();
    let words = std::env::args_os().skip(1);
    let options =
        match parse_everything::<CallOptions>(words, &environment, std::io::stdin(), &mut screen) {
            Ok(options) => options,
            Err(stop) => return stop.show(&mut screen).into(),
        };
    // Who becomes somebody else may not be told the same then.
    if options.user.is_none() && !options.skip_grains && !options.doc {
        halite_grains::collect_ahead();
    }
    let config = match load_minion(&load_options(&options, &environment)) {
        Ok(loaded) => loaded.config,
        Err(error) => {
            screen.error_line(&error.render());
            return Exit::Config.into();
        }
    };
    let logging = &options.logging;
    if let Err(stop) = start::logs(&config.logging(), options.log_level, logging) {
        return stop.show(&mut screen).into();
    }
    let opts = config.opts().clone();
    let execute = |work| execute(&options, &config, work);
    let exit = call::run(&options, &opts, &environment, &mut screen, execute);
    screen.close(exit).into()
}

fn load_options(options: &CallOptions, environment: &Environment) -> LoadOptions {
    let mut overrides = Vec::new();
    if let Some(id) = &options.id {
        overrides.push(("id".to_owned(), Value::from(id.as_str())));
    }
    if let Some(master) = &options.master {
        overrides.push(("master".to_owned(), Value::from(master.as_str())));
    }
    if let Some(cachedir) = &options.cachedir {
        overrides.push(("cachedir".to_owned(), cachedir.display().to_string().into()));
    }
    let executors = [
        ("module_executors", &options.executors.module_executors),
        ("executor_opts", &options.executors.executor_opts),
    ];
    for (name, text) in executors {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
            overrides.push((name.to_owned(), args::yamlify(text)));
        }
    }
    let dirs = |dirs: &[PathBuf]| {
        Value::List(
            dirs.iter()
                .map(|dir| dir.display().to_string().into())
                .collect(),
        )
    };
    if !options.module_dirs.is_empty() {
        overrides.push(("module_dirs".to_owned(), dirs(&options.module_dirs)));
    }
    if options.local && !options.states_dir.is_empty() {
        overrides.push(("states_dirs".to_owned(), dirs(&options.states_dir)));
    }
    if options.local {
        overrides.push(("file_client".to_owned(), "local".into()));
        // They name the base environment.
        let roots = [
            ("file_roots", &options.file_root),
            ("pillar_roots", &options.pillar_root),
        ];
        for (name, given) in roots.into_iter().filter(|(_, dirs)| !dirs.is_empty()) {
            let base = Map::from([("base", dirs(given))]);
            overrides.push((name.to_owned(), base.into()));
        }
    }
    LoadOptions {
        config_dir: start::config_dir(&options.common, environment),
        config_file: environment.minion_config.clone(),
        own_file: None,
        overrides,
        behind: Some(halite::addresses::read),
        host_names: HostNames::gather(Path::new("/")),
        keep_id: true,
    }
}

fn execute(options: &CallOptions, config: &MinionConfig, work: Work) -> CallOutcome {
    if let Some(name) = &options.user {
        let Ok(user) = User::lookup(name) else {
            return CallOutcome::NoUser(format!(
                "Failed to prepare the Salt environment for user {name}. The user is not \
                 available."
            ));
        };
        if let Err(error) = privileges::become_user(&user) {
            return CallOutcome::Failed(halite_cli::chain(&error));
        }
    }
    match work {
        Work::Docs(prefix) => CallOutcome::Docs(docs(&prefix)),
        Work::Grains => match minion::setup(config, false) {
            Ok(setup) => CallOutcome::Grains((setup.collect_grains)(wanted(options, config))),
            Err(error) => CallOutcome::Failed(format!("{error:#}")),
        },
        Work::Bus(wish) => match bus(config, &wish) {
            Ok(bus) => CallOutcome::Bus(bus, wish),
            Err(error) => CallOutcome::Failed(format!("{error:#}")),
        },
        Work::Call(request) => run(options, config, request)
            .unwrap_or_else(|error| CallOutcome::Failed(format!("{error:#}"))),
    }
}

/// Where the bus is whose events are wished for.
fn bus(config: &MinionConfig, wish: &Wish) -> Result<Endpoint> {
    let mut config = config.clone();
    if let Some(dir) = &wish.sock_dir {
        config.sock_dir = dir.into();
    }
    match wish.node.as_str() {
        "master" => Ok(Endpoint::Ipc(config.sock_dir.join("master_event_pub.ipc"))),
        _ => Ok(minion::bus_endpoints(&config)?.0),
    }
}

/// Whether grains that were kept will do.
fn wanted(options: &CallOptions, config: &MinionConfig) -> Want {
    match options.refresh_grains_cache || config.grains_refresh_pre_exec {
        true => Want::New,
        false => Want::Kept,
    }
}

fn run(options: &CallOptions, config: &MinionConfig, request: CallRequest) -> Result<CallOutcome> {
    let jid = time::jid_from_micros(unix_micros());
    let returners = match request.returners.as_slice() {
        [] => ChosenReturners::with_option([], config.opts()),
        named => ChosenReturners::of(named.iter().map(String::as_str)).checked(config.opts())?,
    };
    let local = options.local || config.file_client == "local";
    let patience = u64::try_from(options.timeout).unwrap_or(60);
    let request = Request {
        jid: jid.clone(),
        fun: request.fun,
        args: request.args,
        metadata: request.metadata.and_then(|metadata| match metadata {
            Value::Map(map) => Some(map),
            _ => None,
        }),
        words: options.words.iter().skip(1).cloned().collect(),
        returners,
        send_return: !options.no_return_event,
        sign_in_timeout: minion::sign_in_patience(config, Duration::from_secs(patience)),
        cancel: Cancel::default(),
    };
    let cancel = request.cancel.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start the async runtime")?;
    let work = async {
        let mut setup = minion::setup(config, false)?;
        // By this a state run knows that its pillar is new.
        setup.opts.insert("__cli", "salt-call");
        if options.skip_grains {
            setup.collect_grains = Box::new(|_| Map::new());
        } else if wanted(options, config) == Want::New {
            let collect = setup.collect_grains;
            setup.collect_grains = Box::new(move |_| collect(Want::New));
        }
        let outcome = if local {
            let grains = (setup.collect_grains)(Want::Kept);
            let files = minion::local_files(config)?;
            let context = LocalContext::new(setup.opts, grains, files)
                .collecting(setup.collect_grains)
                .beside(setup.daemon_bus);
            halite_minion::call::local(context, &request).await
        } else {
            let started = halite_minion::start::start(setup).await?;
            halite_minion::call::remote(started.minion, started.fleet, request).await
        };
        anyhow::Ok(outcome)
    };
    let result = runtime.block_on(unless_interrupted(work, &cancel));
    // What is left on other threads must not hold up the prompt.
    runtime.shutdown_background();
    let id = config.minion_id()?.to_string();
    let Some(result) = result? else {
        return Ok(CallOutcome::Interrupted);
    };
    Ok(match result? {
        Ok(outcome) => shown(jid, id, outcome),
        Err(CallError::NotAccepted) => CallOutcome::KeyPending,
        Err(error) => CallOutcome::Failed(error.to_string()),
    })
}

/// How long a function that is ended by a signal may take to leave things in
/// order; a second signal ends the program at once.
const INTERRUPT_GRACE: Duration = Duration::from_secs(2);

/// Runs the work; `None` if a signal arrives first. The commands that it has started are
/// in process groups of their own, which a terminal's Ctrl-C does not reach, so they are
/// stopped explicitly.
async fn unless_interrupted<T>(
    work: impl Future<Output = T>,
    cancel: &Cancel,
) -> Result<Option<T>> {
    let mut signals = Signals::new().context("could not catch signals")?;
    let mut work = pin!(work);
    let signal = tokio::select! {
        done = &mut work => return Ok(Some(done)),
        signal = signals.next() => signal,
    };
    cancel.signal(signal.number());
    tokio::select! {
        _ = tokio::time::timeout(INTERRUPT_GRACE, work) => {}
        _ = signals.next() => {}
    }
    Ok(None)
}

/// The error text for keyword arguments that a function does not take.
const BAD_KEYWORDS: &str = "The following keyword arguments are not valid:";

fn shown(jid: Jid, id: String, outcome: Outcome) -> CallOutcome {
    match outcome.failure {
        None => CallOutcome::Returned(CallReturn {
            jid,
            id,
            value: outcome.ret,
            retcode: outcome.retcode,
            out: outcome.out.map(str::to_owned),
        }),
        Some(Failure::NotAvailable(text)) => CallOutcome::NotAvailable(text),
        Some(Failure::Call { error, doc }) => match error {
            FunctionError::Command(text) => CallOutcome::CommandFailed(text),
            // Seen before the function is called: its documentation is not shown.
            FunctionError::Invocation(text) if text.starts_with(BAD_KEYWORDS) => {
                CallOutcome::Exception(text)
            }
            FunctionError::Arguments(text) | FunctionError::Invocation(text) => {
                CallOutcome::BadArguments {
                    text,
                    doc: doc.to_owned(),
                }
            }
            other => CallOutcome::Exception(match other.trace() {
                Some(trace) => trace.trim_end().to_owned(),
                None => other.to_string(),
            }),
        },
    }
}

fn docs(prefix: &str) -> BTreeMap<String, String> {
    let wanted = |name: &str| {
        prefix.is_empty()
            || name == prefix
            || name
                .strip_prefix(prefix)
                .is_some_and(|r| r.starts_with('.'))
    };
    halite_state_run::registry()
        .functions()
        .filter(|function| wanted(function.name))
        .map(|function| (function.name.to_owned(), function.doc_text()))
        .collect()
}
