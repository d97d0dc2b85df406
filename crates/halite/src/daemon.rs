//! How a daemon starts: options, configuration, background, user, logs, pid
//! file, signals, and only then its own work.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use halite_cli::options::{DaemonOptions, Program, Stop, parse};
use halite_cli::{Environment, Exit, Screen};
use halite_config::{ConfigError, HostNames, LevelName, LoadOptions, Loaded};
use halite_process::daemon::{Forked, Readiness, StartReport, daemonize};
use halite_process::hand_over::hand_over;
use halite_process::logging::{self, Level, LogOptions};
use halite_process::memory::{self, Settling};
use halite_process::pidfile::PidFile;
use halite_process::privileges::{self, User};
use halite_process::shutdown::Signals;
use halite_proto::Value;

/// When a start is over: first sign-ins are done, and what only they have needed
/// can go.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// How soon after a burst of work its memory is given back.
const SETTLING_EVERY: Duration = Duration::from_secs(5);

/// How long work that was left behind may hold up the end.
const RUNTIME_SHUTDOWN: Duration = Duration::from_millis(500);

/// What a daemon's configuration says about the process it runs in.
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
    /// `log_level`.
    pub log_level: LevelName,
    /// `log_file`.
    pub log_file: PathBuf,
    /// `log_level_logfile`.
    pub log_level_file: Option<LevelName>,
    /// `log_fmt_console` and its time format.
    pub log_console: (Option<String>, Option<String>),
    /// `log_fmt_logfile` and its time format.
    pub log_lines: (Option<String>, Option<String>),
    /// `log_granular_levels`.
    pub log_granular: Vec<(String, String)>,
    /// Threads that run async tasks.
    pub async_threads: usize,
    /// Threads for blocking work at most.
    pub blocking_threads: usize,
    /// `max_open_files`.
    pub open_files: Option<u64>,
}

/// A directory that a daemon works in.
pub struct Directory {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it holds keys, so that nobody else may ever enter it. Of others
    /// an administrator may think differently (`publisher_acl` needs it).
    pub holds_keys: bool,
}

impl Directory {
    /// The directories that every daemon has.
    pub fn of(pki_dir: &Path, others: [&Path; 2]) -> Vec<Self> {
        let directory = |path: &Path, holds_keys| Self {
            path: path.to_owned(),
            holds_keys,
        };
        let others = others.map(|path| directory(path, false));
        std::iter::once(directory(pki_dir, true))
            .chain(others)
            .collect()
    }

    /// Makes it, if it is not there, and gives it to `user`, if that is another
    /// one than this process'.
    fn prepare(&self, user: Option<&User>, permissive_keys: bool) -> Result<()> {
        if permissive_keys && self.holds_keys && user.is_some_and(|user| self.is_of_a_group(user)) {
            return Ok(());
        }
        if self.holds_keys || !self.path.is_dir() {
            let owner = user.map(|user| user.uid.as_raw());
            halite_crypto::files::ensure_private_dir(&self.path, owner)?;
        }
        if let Some(user) = user.filter(|_| privileges::is_root()) {
            hand_over(&self.path, user, JOBS)?;
        }
        Ok(())
    }

    /// Whether the directory's group is one of the user's.
    fn is_of_a_group(&self, user: &User) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(group) = std::fs::metadata(&self.path).map(|found| found.gid()) else {
            return false;
        };
        let groups = std::ffi::CString::new(user.name.as_str())
            .ok()
            .and_then(|name| nix::unistd::getgrouplist(&name, user.gid).ok());
        groups.is_some_and(|groups| groups.iter().any(|known| known.as_raw() == group))
    }
}

/// The directory of old jobs, which is not searched at every start.
const JOBS: &str = "jobs";

/// A kind of daemon.
pub trait Daemon {
    /// Its command line.
    type Options: Program;
    /// Its configuration.
    type Config;

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

    /// Reads its configuration.
    ///
    /// # Errors
    /// When that cannot be used.
    fn load(load: &LoadOptions) -> Result<Loaded<Self::Config>, ConfigError>;

    /// Checks what options mean together, without touching anything.
    ///
    /// # Errors
    /// When they do not fit each other.
    fn check(config: &Self::Config) -> Result<()>;

    /// What the configuration says about the process.
    fn process(config: &Self::Config) -> Process;

    /// Runs until `stop` resolves; `ready` is called when it listens.
    fn serve(
        config: Self::Config,
        ready: impl FnOnce() + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = Result<u8>>;
}

/// Runs a daemon from its command line to its exit code.
pub fn run<D: Daemon>() -> u8 {
    halite_process::file_size::exceeding_is_an_error();
    let mut screen = Screen::standard();
    let options = match parse::<D::Options>(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(stop) => return Stop::show(stop, &mut screen).code(),
    };
    let all_options = options;
    let options = D::options(&all_options);
    let environment = Environment::of_process();
    let mut load = load_options(options, &environment);
    load.config_file = D::config_file(&environment);
    let loaded = match D::load(&load) {
        Ok(loaded) => loaded,
        Err(error) => {
            screen.error_line(&error.render());
            return Exit::Config.code();
        }
    };
    if let Some(code) = D::command(&all_options, &loaded.config, &mut screen) {
        return code;
    }
    if let Err(error) = check::<D>(options, &loaded.config) {
        screen.error_line(&format!("{error:#}"));
        return Exit::Config.code();
    }
    if options.check {
        for warning in &loaded.warnings {
            screen.line(&format!("warning: {warning}"));
        }
        screen.line("the configuration is good");
        return Exit::Ok.code();
    }
    let readiness = if options.daemon {
        match daemonize() {
            Ok(Forked::Parent(StartReport::Ready)) => return Exit::Ok.code(),
            Ok(Forked::Parent(StartReport::Failed { exit_code, message })) => {
                screen.error_line(&message);
                return exit_code;
            }
            Ok(Forked::Daemon(readiness)) => readiness,
            Err(error) => {
                screen.error_line(&halite_cli::chain(&error));
                return Exit::Failure.code();
            }
        }
    } else {
        Readiness::foreground()
    };
    start::<D>(options, loaded, readiness, &mut screen)
}

/// What is wrong with options of the right types.
fn check<D: Daemon>(options: &DaemonOptions, config: &D::Config) -> Result<()> {
    let process = D::process(config);
    wanted_user(&process)?;
    logging::check(&log_options(&process, options, None)?)?;
    D::check(config)
}

fn wanted_user(process: &Process) -> Result<Option<User>> {
    let lookup = |name: &String| User::lookup(name).context("bad option `user`");
    process.user.as_ref().map(lookup).transpose()
}

/// After the start and after each burst of work, for ever.
async fn give_back_memory() {
    let settle = || tokio::task::spawn_blocking(memory::settle);
    tokio::time::sleep(SETTLED_AFTER).await;
    let _ = settle().await;
    let mut settling = Settling::begin();
    loop {
        tokio::time::sleep(SETTLING_EVERY).await;
        if settling.is_due() {
            let _ = settle().await;
        }
    }
}

/// Everything that happens in the process that stays.
fn start<D: Daemon>(
    options: &DaemonOptions,
    loaded: Loaded<D::Config>,
    readiness: Readiness,
    screen: &mut Screen,
) -> u8 {
    let process = D::process(&loaded.config);
    let mut readiness = Some(readiness);
    let listening = listen_for_signals(&process);
    // A signal that comes while the pid file is made is heard all the same, so
    // none leaves it behind.
    let prepared = listening.and_then(|heard| {
        Ok((
            heard,
            prepare(&process, options, &loaded.warnings, || {
                D::as_root(&loaded.config)
            })?,
        ))
    });
    let logs_to_console = prepared.is_ok() && !options.daemon;
    let result = prepared.and_then(|((runtime, mut signals), (_pid_file, logs))| {
        let code = runtime.block_on(async {
            tokio::spawn(logs.reopen_on_hangup());
            let stop = async move {
                let signal = signals.next().await;
                tracing::info!(%signal, "stopping");
                halite_process::notify::stopping();
            };
            let ready = || {
                halite_process::notify::ready();
                if let Some(readiness) = readiness.take() {
                    readiness.ready();
                }
                tokio::spawn(give_back_memory());
            };
            D::serve(loaded.config, ready, stop).await
        });
        runtime.shutdown_timeout(RUNTIME_SHUTDOWN);
        code
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            // Before there is a log, and in the background, whoever has started
            // this wants to know all the same.
            let message = format!("{error:#}");
            tracing::error!("{message}");
            let code = Exit::Failure.code();
            let heard = readiness.take().is_some_and(|r| r.failed(code, &message));
            if !heard && !options.daemon && !logs_to_console {
                screen.error_line(&message);
            }
            code
        }
    }
}

/// The runtime, which hears signals from now on.
fn listen_for_signals(process: &Process) -> Result<(tokio::runtime::Runtime, Signals)> {
    let runtime = build_runtime(process)?;
    let signals = {
        let _in_runtime = runtime.enter();
        Signals::new().context("could not catch signals")?
    };
    Ok((runtime, signals))
}

/// Options of the command line and the environment, for reading the files.
fn load_options(options: &DaemonOptions, environment: &Environment) -> LoadOptions {
    let mut overrides = Vec::new();
    let mut lay_over = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            overrides.push((name.to_owned(), Value::Str(value)));
        }
    };
    // The daemon's directory is `/`; a relative path is meant from here.
    let path = |path: &Option<PathBuf>| {
        let path = path.as_ref()?;
        let absolute = std::path::absolute(path);
        Some(absolute.as_ref().unwrap_or(path).display().to_string())
    };
    lay_over("pidfile", path(&options.pid_file));
    lay_over("user", options.user.clone());
    lay_over(
        "log_level",
        options.log_level.map(|level| level.name().to_owned()),
    );
    lay_over("log_file", path(&options.logging.log_file));
    let file_level = options
        .logging
        .log_file_level
        .map(|level| level.name().to_owned());
    lay_over("log_level_logfile", file_level);
    LoadOptions {
        config_dir: options
            .common
            .config_dir
            .clone()
            .or_else(|| environment.config_dir.clone()),
        config_file: None,
        overrides,
        behind: Some(crate::addresses::read),
        host_names: HostNames::gather("/".as_ref()),
    }
}

/// User, directories, logs and pid file.
fn prepare(
    process: &Process,
    options: &DaemonOptions,
    warnings: &[halite_config::Warning],
    as_root: impl FnOnce() -> Result<()>,
) -> Result<(PidFile, logging::Logs)> {
    let user = wanted_user(process)?;
    let other = user
        .as_ref()
        .filter(|user| user.uid != nix::unistd::geteuid());
    // First: the directories may be those of a daemon that runs.
    let pid_file = PidFile::claim(&process.pidfile, other)?;
    for directory in &process.directories {
        directory.prepare(other, process.permissive_keys)?;
    }
    let logs = logging::init(&log_options(process, options, other.cloned())?)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if let Some(files) = process.open_files
        && let Err(error) = halite_process::limits::raise_open_files(files)
    {
        tracing::warn!(%error, wanted = files, "the limit of open files stays as it is");
    }
    if let Some(user) = other {
        if privileges::is_root() {
            as_root()?;
        }
        privileges::become_user(user)?;
    }
    Ok((pid_file, logs))
}

fn log_options(
    process: &Process,
    options: &DaemonOptions,
    file_owner: Option<User>,
) -> Result<LogOptions> {
    let level = |name: &str| Level::parse(name).with_context(|| format!("no log level {name:?}"));
    let console = level(&process.log_level.0)?;
    let file = process
        .log_level_file
        .as_ref()
        .map_or(Ok(console), |name| level(&name.0))?;
    let mut log = LogOptions {
        console_level: (!options.daemon).then_some(console),
        file: Some(process.log_file.clone()),
        file_level: file,
        file_owner,
        ..LogOptions::default()
    };
    let set = |field: &mut String, value: &Option<String>| {
        if let Some(value) = value {
            field.clone_from(value);
        }
    };
    set(&mut log.console_format, &process.log_console.0);
    set(&mut log.console_date_format, &process.log_console.1);
    set(&mut log.file_format, &process.log_lines.0);
    set(&mut log.file_date_format, &process.log_lines.1);
    for (target, name) in &process.log_granular {
        log.granular.push((target.clone(), level(name)?));
    }
    Ok(log)
}

fn build_runtime(process: &Process) -> Result<tokio::runtime::Runtime> {
    let mut builder = match process.async_threads {
        0 | 1 => tokio::runtime::Builder::new_current_thread(),
        threads => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    builder
        .enable_all()
        .max_blocking_threads(process.blocking_threads)
        .thread_keep_alive(Duration::from_secs(2))
        .build()
        .context("could not start the async runtime")
}

/// `log_granular_levels`, names with levels.
pub fn granular(map: &halite_proto::Map) -> Vec<(String, String)> {
    map.iter()
        .filter_map(|(name, level)| {
            Some((
                name.as_str()?.to_owned(),
                level.as_str()?.to_ascii_lowercase(),
            ))
        })
        .collect()
}
