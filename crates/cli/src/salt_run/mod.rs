//! `salt-run`: runs functions of the master and shows their returns.
//!
//! The master runs them; the program shows the events that every listener of the
//! bus receives. Only `state.event` runs here, since it writes continuously.

mod returned;

use std::collections::BTreeMap;
use std::time::Duration;

use halite_proto::{Jid, Map, Value};

use crate::display::Display;
use crate::environment::Environment;
use crate::events::{self, End, Wish};
use crate::login::{Login, LoginError};
use crate::options::{RunOptions, Stop};
use crate::{Exit, Screen, args};
use halite_client::{
    Caller, ClientError, ClientSettings, LocalClient, RunnerJob, RunnerNews, RunnerSession,
};

use self::returned::{exit_of, outputter_of, show_return};

/// Runs `salt-run` with the master's merged configuration `opts`.
pub async fn run(
    options: &RunOptions,
    opts: &Map,
    environment: &Environment,
    screen: &mut Screen<'_>,
) -> Exit {
    let prepared = prepared(options, opts, environment, screen);
    let mut program = match prepared {
        Ok(program) => program,
        Err(stop) => return stop.show(screen),
    };
    if let Err(exit) = program.log_in(screen).await {
        return exit;
    }
    let done = program.run(screen).await;
    done.unwrap_or_else(|error| program.failed(&error, screen))
}

fn prepared<'a>(
    options: &'a RunOptions,
    opts: &'a Map,
    environment: &'a Environment,
    screen: &Screen,
) -> Result<Program<'a>, Stop> {
    options.check()?;
    let failed = |error: &dyn std::error::Error| Stop {
        stdout: String::new(),
        stderr: format!("salt-run: error: {}\n", crate::chain(error)),
        exit: Exit::Failure,
    };
    let no_color = environment.no_color.as_deref();
    let display =
        Display::new(opts, &options.output, screen, no_color).map_err(|error| failed(&error))?;
    let settings = ClientSettings::from_opts(opts).map_err(|error| failed(&error))?;
    let caller = Caller::current(environment.sudo_user.as_deref());
    Ok(Program {
        options,
        opts,
        environment,
        display,
        client: LocalClient::new(settings, caller),
    })
}

struct Program<'a> {
    options: &'a RunOptions,
    opts: &'a Map,
    environment: &'a Environment,
    display: Display,
    client: LocalClient,
}

impl Program<'_> {
    async fn log_in(&mut self, screen: &mut Screen<'_>) -> Result<(), Exit> {
        let login = Login {
            eauth: self.options.login.eauth.as_deref(),
            options: &self.options.login.more,
            opts: self.opts,
            environment: self.environment,
        };
        match login.credentials(&self.client, screen).await {
            Ok(credentials) => {
                self.client.log_in(credentials);
                Ok(())
            }
            Err(LoginError::Failed) => {
                tracing::error!("Authentication failed");
                Err(Exit::Failure)
            }
            Err(LoginError::Client(error)) => Err(self.failed(&error, screen)),
        }
    }

    async fn run(&mut self, screen: &mut Screen<'_>) -> Result<Exit, ClientError> {
        if self.options.doc || self.options.words.is_empty() {
            return self.documentation(screen).await;
        }
        let Some((fun, words)) = self.options.words.split_first() else {
            return Ok(Exit::Ok);
        };
        let parse = &self.options.parse;
        let no_parse = parse.no_parse_names(self.environment.no_parse.as_deref());
        let (args, kwargs) = args::split(args::parse(words, &no_parse));
        if fun == "state.event" {
            return self.events(args, kwargs, screen).await;
        }
        if !is_function_name(fun) {
            return self.no_function(fun, screen).await;
        }
        let job = self.job(fun, args, kwargs);
        let timeout = self.request_timeout();
        let mut session = self.client.start_runner(&job, timeout).await?;
        if self.options.is_async {
            tracing::warn!(
                "Running in asynchronous mode. Results of this execution may be collected by \
                 attaching to the master event bus or by examining the master job cache, if \
                 configured. This execution is running under tag {}",
                session.tag
            );
            return Ok(Exit::Ok);
        }
        let quiet = self.options.quiet;
        follow(&mut session, &mut self.display, quiet, screen).await
    }

    /// `state.event`, which no master need run.
    async fn events(
        &self,
        args: Vec<Value>,
        kwargs: Map,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let wish = Wish::new(args, kwargs, "master").and_then(|wish| {
            if wish.node != "master" {
                return Err("only the events of the master can be shown".to_owned());
            }
            match wish.sock_dir {
                Some(_) => Err("sock_dir is taken from the configuration".to_owned()),
                None => Ok(wish),
            }
        });
        let wish = match wish {
            Ok(wish) => wish,
            Err(why) => {
                screen.line(&format!("\nPassed invalid arguments: {why}"));
                return Ok(Exit::Ok);
            }
        };
        let connect = async || self.client.events().await;
        match events::show(connect, &wish, screen).await? {
            End::Enough => Ok(Exit::Ok),
            End::Interrupted => Ok(Exit::Failure),
        }
    }

    fn job(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> RunnerJob {
        RunnerJob {
            fun: fun.to_owned(),
            args,
            kwargs,
            jid: self
                .options
                .jid
                .as_deref()
                .and_then(|jid| Jid::parse(jid).ok()),
            timeout: self.options.timeout.filter(|seconds| *seconds > 0),
        }
    }

    /// How long the master has to start it: a login may take its time.
    fn request_timeout(&self) -> Duration {
        let settings = self.client.settings();
        settings.timeout.max(settings.publish_timeout)
    }

    async fn documentation(&mut self, screen: &mut Screen<'_>) -> Result<Exit, ClientError> {
        let wanted = self.options.words.first().map_or("", String::as_str);
        for (name, text) in self.docs(wanted).await? {
            screen.text(&format!("{name}:\n{text}\n"));
        }
        Ok(Exit::Ok)
    }

    /// What is no name of a function: the functions of the runner that it
    /// names, or that there is none.
    async fn no_function(
        &mut self,
        word: &str,
        screen: &mut Screen<'_>,
    ) -> Result<Exit, ClientError> {
        let name = word.strip_suffix('.').unwrap_or(word);
        let docs = match name.is_empty() || name.contains(['.', '*']) {
            true => BTreeMap::new(),
            false => self.docs(name).await?,
        };
        let shown = match docs.is_empty() {
            // As far as scripts can see, nothing went wrong.
            true => format!("'{word}' is not available.").into(),
            false => Value::Map(docs.into_iter().collect()),
        };
        self.display.show(screen, &shown, None, 0);
        Ok(Exit::Ok)
    }

    /// The documentation that is meant, by function.
    async fn docs(&self, wanted: &str) -> Result<BTreeMap<String, String>, ClientError> {
        let job = self.job("doc.runner", Vec::new(), Map::new());
        let timeout = self.request_timeout();
        let mut session = self.client.start_runner(&job, timeout).await?;
        let data = loop {
            if let RunnerNews::Done(data) = session.next().await? {
                break data;
            }
        };
        let docs = data.get("return").and_then(Value::as_map);
        let docs = docs.into_iter().flatten();
        Ok(docs
            .filter_map(|(name, text)| Some((name.as_str()?.to_owned(), text.as_str()?.to_owned())))
            .filter(|(name, _)| is_wanted(wanted, name))
            .collect())
    }

    fn failed(&mut self, error: &ClientError, screen: &mut Screen) -> Exit {
        if let Some(source) = std::error::Error::source(error) {
            tracing::error!("{}", crate::chain(source));
        }
        self.display
            .show(screen, &error.to_string().into(), None, 1);
        Exit::Failure
    }
}

/// Whether a word can be the name of a runner's function.
fn is_function_name(word: &str) -> bool {
    word.split('.').count() == 2 && word.split('.').all(|part| !part.is_empty())
}

/// Whether documentation of a function is asked for by its name, its runner's,
/// or a glob.
fn is_wanted(wanted: &str, name: &str) -> bool {
    if wanted.contains('*') {
        return halite_target::glob::fnmatch(wanted, name);
    }
    let is_module = || {
        name.strip_prefix(wanted)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    wanted.is_empty() || name == wanted || is_module()
}

/// Shows what a runner tells until it has ended.
async fn follow(
    session: &mut RunnerSession<'_>,
    display: &mut Display,
    quiet: bool,
    screen: &mut Screen<'_>,
) -> Result<Exit, ClientError> {
    loop {
        let news = tokio::select! {
            news = session.next() => news?,
            Ok(()) = tokio::signal::ctrl_c() => {
                screen.error_line(&format!(
                    "\nThis runner goes on; what it returns is told under the tag {}\nTo look it \
                     up later, run the following command:\n\nsalt-run jobs.lookup_jid {jid}\n\n\
                     To end it:\n\nsalt-run jobs.kill {jid}",
                    session.tag,
                    jid = session.jid
                ));
                return Ok(Exit::Failure);
            }
        };
        match news {
            RunnerNews::Progress(suffix, _) if quiet || UNSHOWN.contains(&suffix.as_str()) => {}
            RunnerNews::Progress(_, event) if event.contains_key(PRINT) => {
                let text = event.get(PRINT).and_then(Value::as_str).unwrap_or_default();
                screen.line(text);
            }
            RunnerNews::Progress(suffix, event) => {
                let out = outputter_of(&event);
                let shown = Map::from([("suffix", Value::from(suffix)), ("event", event.into())]);
                display.show(screen, &shown.into(), out.as_deref(), 0);
            }
            RunnerNews::Done(event) => {
                if !quiet {
                    show_return(&event, display, screen);
                }
                return Ok(exit_of(&event));
            }
        }
    }
}

/// Progress that is for who watches the bus: that a runner begins, and what an
/// orchestration commands.
const UNSHOWN: [&str; 2] = ["new", "args"];

/// What progress is called that is text for the standard output.
const PRINT: &str = "print";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_map_holds_the_named_arguments() {
        let given = args::parse(&["1", "a=2"], &[]);
        assert_eq!(args::split(given), (vec![1.into()], Map::from([("a", 2)])));
        assert_eq!(args::split(vec![1.into()]), (vec![1.into()], Map::new()));
        assert_eq!(args::split(Vec::new()), (Vec::new(), Map::new()));
    }

    #[test]
    fn a_function_is_named_with_its_runner() {
        for (word, expect) in [
            ("jobs.active", true),
            ("jobs", false),
            ("jobs.", false),
            (".active", false),
            ("wheel.key.list", false),
            ("", false),
        ] {
            assert_eq!(is_function_name(word), expect, "{word}");
        }
    }

    #[test]
    fn documentation_is_wanted_by_function_runner_or_glob() {
        for (wanted, name, expect) in [
            ("", "jobs.active", true),
            ("jobs", "jobs.active", true),
            ("jobs.active", "jobs.active", true),
            ("job", "jobs.active", false),
            ("*.active", "jobs.active", true),
        ] {
            assert_eq!(is_wanted(wanted, name), expect, "{wanted}");
        }
    }
}
