//! `salt`: sends a command to minions and shows their returns as they arrive.

mod batch;
mod batch_news;
mod broken_off;
mod closing;
mod docs;
mod preview;
mod progress;
mod returns;
mod subset;
mod summary;

use std::time::Duration;

use batch::BatchPlan;
use halite_proto::publish::FunSpec;
use halite_proto::{Map, Value};

use crate::command::Command;
use crate::display::Display;
use crate::environment::Environment;
use crate::login::{self, Login, LoginError};
use crate::options::{SaltOptions, Stop};
use crate::{Exit, Screen, args};
use halite_client::{Caller, ClientError, ClientSettings, Job, LocalClient, WISH};

/// What is said when nobody is there to give documentation.
const NO_DOCS: &str = "No minions found to gather docs from";

pub(crate) const NO_MATCH: &str =
    "No minions matched the target. No command was sent, no jid was assigned.";
const NO_RETURN: &str = "ERROR: No return received";

/// Runs `salt` with the master's merged configuration `opts`.
pub async fn run(
    options: &SaltOptions,
    opts: &Map,
    environment: &Environment,
    screen: &mut Screen<'_>,
) -> Exit {
    match prepared(options, opts, environment, screen) {
        Ok(Prepared::Program(program)) => program.run(screen).await,
        Ok(Prepared::Done(exit)) => exit,
        Err(stop) => stop.show(screen),
    }
}

enum Prepared<'a> {
    Program(Box<Program<'a>>),
    Done(Exit),
}

/// Everything before the master is needed.
fn prepared<'a>(
    options: &'a SaltOptions,
    opts: &'a Map,
    environment: &'a Environment,
    screen: &mut Screen,
) -> Result<Prepared<'a>, Stop> {
    options.check()?;
    if options.config_dump {
        let dump = halite_yaml::dump(&opts.clone().into(), halite_yaml::DumpOptions::block());
        screen.text(&dump);
        return Ok(Prepared::Done(Exit::Ok));
    }
    let no_parse = options
        .parse
        .no_parse_names(environment.no_parse.as_deref());
    let command = Command::parse(options, &no_parse)?;
    let mut display = command_display(options, opts, environment, &command, screen)?;
    let settings = ClientSettings::from_opts(opts).map_err(|error| failed_early(&error))?;
    preview::check(&command, &settings, &options.target.delimiter)?;
    if options.preview_target {
        let ids = preview::matching(&command, &settings, &options.target.delimiter)?;
        return Ok(Prepared::Done(show_preview(ids, &mut display, screen)));
    }
    let plan = batch_plan(options, &command, &settings, screen)?;
    let summary = opts.get("cli_summary").is_some_and(Value::is_true);
    Ok(Prepared::Program(Box::new(Program {
        options,
        opts,
        environment,
        plan,
        command,
        display,
        timeout: asked_timeout(options).unwrap_or(settings.timeout),
        with_summary: options.summary || summary,
        on_terminal: screen.is_terminal() && screen.has_status_line(),
        client: LocalClient::new(settings, Caller::current(environment.sudo_user.as_deref())),
    })))
}

/// An error before anything was sent.
fn failed_early(error: &dyn std::error::Error) -> Stop {
    Stop {
        stdout: String::new(),
        stderr: format!("salt: error: {}\n", crate::chain(error)),
        exit: Exit::NoReturn,
    }
}

/// How returns are shown, by the options and the arguments of the command.
fn command_display(
    options: &SaltOptions,
    opts: &Map,
    environment: &Environment,
    command: &Command,
    screen: &Screen,
) -> Result<Display, Stop> {
    let no_color = environment.no_color.as_deref();
    let display = Display::new(opts, &options.output, screen, no_color);
    let mut display = display.map_err(|error| Stop {
        exit: Exit::Failure,
        ..failed_early(&error)
    })?;
    if options.output_diff {
        display.only_changes();
    }
    display.filter_by_arguments(&command.arguments);
    Ok(display)
}

/// Shows which minions the target matches.
fn show_preview(ids: Vec<String>, display: &mut Display, screen: &mut Screen) -> Exit {
    let exit = match ids.is_empty() {
        true => Exit::NoReturn,
        false => Exit::Ok,
    };
    let ids = ids.into_iter().map(Value::Str).collect();
    display.show(screen, &Value::List(ids), None, 0);
    if exit != Exit::Ok {
        screen.error_line(NO_RETURN);
    }
    exit
}

/// The batches that `--batch-size` asks for, or `--batch-safe-limit` when the target matches
/// too many minions.
fn batch_plan(
    options: &SaltOptions,
    command: &Command,
    settings: &ClientSettings,
    screen: &mut Screen,
) -> Result<Option<BatchPlan>, Stop> {
    if let Some(size) = options.batch.as_deref() {
        return BatchPlan::new(options, size).map(Some);
    }
    let Ok(limit @ 2..) = usize::try_from(options.batch_safe_limit.unwrap_or(0)) else {
        return Ok(None);
    };
    if preview::matching(command, settings, &options.target.delimiter)?.len() < limit {
        return Ok(None);
    }
    screen.line("\nNOTICE: Too many minions targeted, switching to batch execution.");
    let size = options.batch_safe_size.as_deref().unwrap_or(SAFE_SIZE);
    BatchPlan::new(options, size).map(Some)
}

/// `--timeout`, if it is a time.
fn asked_timeout(options: &SaltOptions) -> Option<Duration> {
    let seconds = u64::try_from(options.timeout?).ok()?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// `--batch-safe-size`.
const SAFE_SIZE: &str = "8";

struct Program<'a> {
    options: &'a SaltOptions,
    opts: &'a Map,
    environment: &'a Environment,
    /// How the job is cut into batches, where it is.
    plan: Option<BatchPlan>,
    command: Command,
    display: Display,
    timeout: Duration,
    with_summary: bool,
    /// Somebody looks at both streams.
    on_terminal: bool,
    client: LocalClient,
}

impl Program<'_> {
    async fn run(mut self, screen: &mut Screen<'_>) -> Exit {
        let login = Login {
            eauth: self.options.login.eauth.as_deref(),
            options: &self.options.login.more,
            opts: self.opts,
            environment: self.environment,
        };
        match login.credentials(&self.client, screen).await {
            Ok(credentials) => self.client.log_in(credentials),
            Err(LoginError::Failed) => return login::show_failed(screen),
            Err(LoginError::Client(error)) => return self.failed(&error, screen),
        }
        let done = self.run_as_asked(screen).await;
        done.unwrap_or_else(|error| self.failed(&error, screen))
    }

    async fn run_as_asked(&mut self, screen: &mut Screen<'_>) -> Result<Exit, ClientError> {
        if let Some(plan) = self.plan.clone() {
            return match self.options.is_async {
                true => self.start_batch(&plan, screen).await,
                false => self.run_batch(plan, screen).await,
            };
        }
        if let Some(count) = self.options.subset {
            let ids = self.subset(usize::try_from(count).unwrap_or(1)).await?;
            self.command.target = Value::List(ids.into_iter().map(Value::from).collect());
            self.command.target_kind = "list";
        }
        let job = self.job();
        if self.options.is_async {
            self.start(&job, screen).await
        } else {
            self.start_and_wait(&job, screen).await
        }
    }

    /// Whether a state run is watched by somebody.
    fn watches_states(&self) -> bool {
        self.on_terminal && closing::runs_states(&self.command.function)
    }

    /// Whether it is shown how far the job is.
    fn watches(&self) -> bool {
        self.options.progress || self.watches_states()
    }

    fn job(&self) -> Job {
        let options = self.options;
        let mut along = Map::from([
            ("show_timeout", Value::from(!options.hide_timeout)),
            ("show_jid", options.show_jid.into()),
            ("delimiter", options.target.delimiter.as_str().into()),
        ]);
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                along.insert(name, value);
            }
        };
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let parsed = |text: &Option<String>| given(text).map(|text| args::yamlify(&text));
        add("ret_config", given(&options.return_config).map(Value::Str));
        add("ret_kwargs", parsed(&options.return_kwargs));
        add(
            "module_executors",
            parsed(&options.executors.module_executors),
        );
        add("executor_opts", parsed(&options.executors.executor_opts));
        add("metadata", parsed(&options.metadata));
        add("start_event", options.start_event.then_some(true.into()));
        let tells = self.watches() && closing::runs_states(&self.command.function);
        add(WISH, tells.then_some(true.into()));
        let names = |items: &[Value]| items.iter().map(halite_proto::python::str).collect();
        Job {
            target: self.command.target.clone(),
            target_kind: self.command.target_kind.to_owned(),
            function: match &self.command.function {
                Value::List(functions) => FunSpec::Many(names(functions)),
                one => FunSpec::One(halite_proto::python::str(one)),
            },
            arguments: self.command.arguments.clone(),
            returners: options.returners.clone().unwrap_or_default(),
            options: along,
            jid: None,
        }
    }

    async fn start(&mut self, job: &Job, screen: &mut Screen<'_>) -> Result<Exit, ClientError> {
        let timeout = self.timeout.max(self.client.settings().publish_timeout);
        let published = self.client.publish(job, timeout).await?;
        let exit = match &published {
            Some(_) => Exit::Ok,
            None => {
                screen.line(NO_MATCH);
                Exit::NoReturn
            }
        };
        let jid = published.map_or_else(|| "0".to_owned(), |published| published.jid.to_string());
        screen.line(&format!("Executed command with job ID: {jid}"));
        Ok(exit)
    }

    /// Gives the batches to the master, which goes on alone.
    async fn start_batch(
        &mut self,
        plan: &BatchPlan,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let timeout = self.timeout.max(self.client.settings().publish_timeout);
        let batch = plan.in_background();
        let Some(published) = self
            .client
            .publish_batch(&self.job(), &batch, timeout)
            .await?
        else {
            screen.line(NO_MATCH);
            return Ok(Exit::NoReturn);
        };
        screen.line(&format!(
            "Executed batch command with job ID: {}",
            published.jid
        ));
        Ok(Exit::Ok)
    }

    async fn start_and_wait(
        &mut self,
        job: &Job,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let watches_states = self.watches_states();
        let Some(mut session) = self.client.start(job, self.timeout).await? else {
            screen.line(NO_MATCH);
            if self.options.doc {
                screen.error_line(NO_DOCS);
                return Ok(Exit::NoReturn);
            }
            self.display.show(screen, &Map::new().into(), None, 0);
            screen.error_line(NO_RETURN);
            return Ok(Exit::NoReturn);
        };
        let show = returns::Show {
            command: &self.command,
            options: self.options,
            with_summary: self.with_summary,
            watches: self.options.progress || watches_states,
            on_terminal: self.on_terminal,
            closes: watches_states && !self.display.has_wish(),
            display: &mut self.display,
        };
        show.run(&mut session, screen).await
    }

    fn failed(&mut self, error: &ClientError, screen: &mut Screen) -> Exit {
        if let ClientError::NotRunning { sock_dir } = error {
            tracing::error!(
                "Unable to connect to the salt master publisher at {}",
                sock_dir.display()
            );
        } else if let Some(source) = std::error::Error::source(error) {
            tracing::error!("{}", crate::chain(source));
        }
        self.display
            .show(screen, &error.to_string().into(), None, 1);
        Exit::Failure
    }
}

#[cfg(test)]
mod tests;
