//! How a daemon starts: options, configuration, background, user, logs, pid
//! file, signals, and only then its own work.

mod directory;
mod running;

use std::future::Future;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use halite_cli::options::{DaemonOptions, LoggingOptions, Program, Stop, parse_everything};
use halite_cli::{Environment, Exit, Screen, start};
use halite_config::{ConfigError, Draft, HostNames, LoadOptions, Logging, SourceLocation, Warning};
use halite_process::daemon::{Forked, Readiness, StartReport, daemonize};
use halite_process::logging::{self, LogOptions};
use halite_process::privileges::User;
use halite_proto::{Map, Value};

pub use directory::Directory;

/// The options about the process of a daemon.
pub struct Process {
    /// `user`.
    pub user: Option<String>,
    /// `pidfile`.
    pub pidfile: PathBuf,
    /// `verify_env`: directories to make, for that user.
    pub directories: Vec<Directory>,
    /// `permissive_pki_access`: keys that a group of the user has stay with
    /// their owner.
    pub permissive_keys: bool,
    /// Logs.
    pub logging: Logging,
    /// Threads that run async tasks.
    pub async_threads: usize,
    /// Threads for blocking work at most.
    pub blocking_threads: usize,
    /// `max_open_files`.
    pub open_files: Option<u64>,
}

/// A kind of daemon.
pub trait Daemon {
    /// Its command line.
    type Options: Program;
    /// Its configuration.
    type Config;

    /// The option with its pid file.
    const PID_FILE: &'static str = "pidfile";

    /// The options that all daemons have.
    fn options(options: &Self::Options) -> &DaemonOptions;

    /// The configuration file that the environment names.
    fn config_file(environment: &Environment) -> Option<PathBuf>;

    /// Does what the words of the command line ask for in place of running;
    /// the exit code if there was anything.
    fn command(options: &Self::Options, config: &Self::Config, screen: &mut Screen) -> Option<u8> {
        let _ = (options, config, screen);
        None
    }

    /// Does what only root can, before the process becomes the daemon's own
    /// user.
    ///
    /// # Errors
    /// When it cannot be done.
    fn as_root(config: &Self::Config) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// Reads its configuration, with all its mistakes.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn load(load: &LoadOptions) -> Result<Draft<Self::Config>, ConfigError>;

    /// Mistakes that only the whole program can find.
    fn faults(config: &Self::Config) -> Vec<ConfigError> {
        let _ = config;
        Vec::new()
    }

    /// What options mean together that does not fit, without touching anything.
    fn check(config: &Self::Config) -> Vec<anyhow::Error>;

    /// Warnings about valid but probably unintended options.
    fn doubts(config: &Self::Config) -> Vec<Warning>;

    /// All options with their values.
    fn opts(config: &Self::Config) -> &Map;

    /// The location of an option in the files.
    fn place_of(config: &Self::Config, option: &str) -> Option<SourceLocation>;

    /// The options about the process.
    fn process(config: &Self::Config) -> Process;

    /// Runs until `stop` resolves; `ready` is called when it listens.
    fn serve(
        config: Self::Config,
        ready: impl FnOnce() + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = Result<u8>>;
}

/// What group and others may never do with a file of a daemon.
const OTHERS_WRITE: u32 = 0o022;

/// Runs a daemon from its command line to its exit code.
pub fn run<D: Daemon>() -> u8 {
    // Whoever starts it may leave more open than is good for results, sockets
    // and keys; nobody else writes anything there.
    let inherited = halite_process::umask(OTHERS_WRITE);
    halite_process::umask(inherited | OTHERS_WRITE);
    halite_process::file_size::exceeding_is_an_error();
    let mut screen = Screen::standard();
    let environment = Environment::of_process();
    let words = std::env::args_os().skip(1);
    let options =
        match parse_everything::<D::Options>(words, &environment, std::io::empty(), &mut screen) {
            Ok(options) => options,
            Err(stop) => return Stop::show(stop, &mut screen).code(),
        };
    let all_options = options;
    let options = D::options(&all_options);
    let mut load = load_options(options, &environment, D::PID_FILE);
    load.config_file = D::config_file(&environment);
    load.keep_id = !options.check;
    let mut draft = match D::load(&load) {
        Ok(draft) => draft,
        Err(error) => {
            screen.error_line(&error.render());
            return Exit::Config.code();
        }
    };
    let faults = D::faults(draft.config());
    draft.add_faults(faults);
    let loaded = match draft.finish_all() {
        Ok(loaded) => loaded,
        Err(faults) => {
            for fault in faults {
                screen.error_line(&fault.render());
            }
            return Exit::Config.code();
        }
    };
    if let Some(code) = D::command(&all_options, &loaded.config, &mut screen) {
        return code;
    }
    let misfits = check::<D>(options, &loaded.config);
    if !misfits.is_empty() {
        for error in &misfits {
            screen.error_line(&with_place::<D>(error, &loaded.config));
        }
        return Exit::Config.code();
    }
    let mut loaded = loaded;
    let user = D::process(&loaded.config).user;
    let code = halite_config::code_dirs(D::opts(&loaded.config));
    loaded.warn_of_writers(user.as_deref(), &code);
    if options.check {
        loaded.warnings.extend(D::doubts(&loaded.config));
        screen.text(&loaded.check_report());
        return Exit::Ok.code();
    }
    match detach(options.daemon, &mut screen) {
        Ok(readiness) => running::start::<D>(options, loaded, readiness, &mut screen),
        Err(code) => code,
    }
}

/// Goes to the background if that is wanted.
///
/// # Errors
/// The exit code of the process in the foreground, which has nothing more to do.
fn detach(is_daemon: bool, screen: &mut Screen) -> Result<Readiness, u8> {
    if !is_daemon {
        return Ok(Readiness::foreground());
    }
    match daemonize() {
        Ok(Forked::Parent(StartReport::Ready)) => Err(Exit::Ok.code()),
        Ok(Forked::Parent(StartReport::Failed { exit_code, message })) => {
            screen.error_line(&message);
            Err(exit_code)
        }
        Ok(Forked::Daemon(readiness)) => Ok(readiness),
        Err(error) => {
            screen.error_line(&halite_cli::chain(&error));
            Err(Exit::Failure.code())
        }
    }
}

/// An error about an option, with the line that sets it.
fn with_place<D: Daemon>(error: &anyhow::Error, config: &D::Config) -> String {
    let text = format!("{error:#}");
    let place = named_option(&text).and_then(|option| D::place_of(config, option));
    match place {
        Some(place) if may_hold_login(&place.line) => format!("{place}: {text}"),
        Some(place) => format!("{place}: {text}\n{}", place.excerpt()),
        None => text,
    }
}

/// The option that an error is about: errors about options name them so.
fn named_option(error: &str) -> Option<&str> {
    let (_, rest) = error.split_once("option `")?;
    rest.split_once('`').map(|(option, _)| option)
}

/// Whether a line has an address with a login in it, which is not to be shown.
fn may_hold_login(line: &str) -> bool {
    line.split_once("://")
        .is_some_and(|(_, rest)| rest.contains('@'))
}

/// The errors in options of the right types.
fn check<D: Daemon>(options: &DaemonOptions, config: &D::Config) -> Vec<anyhow::Error> {
    let process = D::process(config);
    let checks = [
        wanted_user(&process).map(drop),
        logging::check(&log_options(&process, options, None)).map_err(Into::into),
    ];
    let mut faults: Vec<_> = checks.into_iter().filter_map(Result::err).collect();
    faults.extend(D::check(config));
    faults
}

fn wanted_user(process: &Process) -> Result<Option<User>> {
    let lookup = |name: &String| User::lookup(name).context("bad option `user`");
    process.user.as_ref().map(lookup).transpose()
}

/// Options of the command line and the environment, for reading the files.
fn load_options(
    options: &DaemonOptions,
    environment: &Environment,
    pid_file_option: &str,
) -> LoadOptions {
    let mut overrides = Vec::new();
    let mut lay_over = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            overrides.push((name.to_owned(), Value::Str(value)));
        }
    };
    let pid_file = options.pid_file.as_deref().map(meant_from_here);
    lay_over(
        pid_file_option,
        pid_file.map(|path| path.display().to_string()),
    );
    lay_over("user", options.user.clone());
    LoadOptions {
        config_dir: start::config_dir(&options.common, environment),
        config_file: None,
        own_file: None,
        overrides,
        behind: Some(crate::addresses::read),
        host_names: HostNames::gather("/".as_ref()),
        keep_id: false,
    }
}

/// A relative path of the command line, absolute.
fn meant_from_here(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn log_options(process: &Process, options: &DaemonOptions, file_owner: Option<User>) -> LogOptions {
    let given = LoggingOptions {
        // The daemon's directory is `/`; a relative path is meant from here.
        log_file: options.logging.log_file.as_deref().map(meant_from_here),
        ..options.logging.clone()
    };
    let log = start::log_options(&process.logging, options.log_level, &given);
    LogOptions {
        console_level: log.console_level.filter(|_| !options.daemon),
        file_owner,
        ..log
    }
}

/// The warnings about the jobs of a schedule; `odd` finds their locations.
pub fn schedule_doubts(
    schedule: &Map,
    odd: impl Fn(&[&str], &str) -> Option<Warning>,
) -> Vec<Warning> {
    let faults = halite_schedule::faults(schedule).into_iter();
    faults
        .filter_map(|fault| {
            let path = std::iter::once(fault.job.as_str()).chain(fault.option.as_deref());
            odd(
                &path.collect::<Vec<_>>(),
                &format!("{}: {}", fault.job, fault.text),
            )
        })
        .collect()
}
