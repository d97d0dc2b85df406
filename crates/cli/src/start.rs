//! The way from a command line to a running program: configuration and logs.

use std::path::{Path, PathBuf};

use halite_config::{
    ConfigError, HostNames, LevelName, LoadOptions, Logging, MasterConfig, load_client,
};
use halite_process::logging::{self, Level, LogError, LogOptions};

use crate::environment::Environment;
use crate::options::{CommonOptions, LogLevel, LoggingOptions, Stop};
use crate::unnamed::open_trusted;
use crate::{Exit, Screen};

/// Where configurations are unless something says otherwise.
const CONFIG_DIR: &str = "/etc/salt";

/// The directory of the configuration: of the option, else of the environment.
pub fn config_dir(common: &CommonOptions, environment: &Environment) -> Option<PathBuf> {
    let dir = common
        .config_dir
        .as_ref()
        .or(environment.config_dir.as_ref())?;
    let below_home = dir.strip_prefix("~").ok();
    match (below_home, &environment.home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        _ => Some(dir.clone()),
    }
}

/// Reads the master's configuration, as the programs beside it need it. A
/// directory that is not there is warned about; what else is odd is the
/// master's own business.
///
/// # Errors
/// When the configuration cannot be read or used.
pub fn client_config(
    common: &CommonOptions,
    environment: &Environment,
    screen: &mut Screen,
) -> Result<MasterConfig, Stop> {
    let dir = config_dir(common, environment);
    let shown = dir.as_deref().unwrap_or_else(|| Path::new(CONFIG_DIR));
    let is_elsewhere = dir.is_none() && environment.master_config.is_some();
    if !is_elsewhere && !shown.is_dir() {
        screen.error_line(&format!(
            "WARNING: CONFIG '{}' directory does not exist.",
            shown.display()
        ));
    }
    let loaded = load_client(&LoadOptions {
        config_dir: dir,
        config_file: environment.master_config.clone(),
        own_file: own_file(environment, screen),
        overrides: Vec::new(),
        // No command waits for a store of secrets.
        behind: None,
        host_names: HostNames::gather(Path::new("/")),
        keep_id: false,
    });
    match loaded {
        Ok(loaded) => Ok(loaded.config),
        Err(error) => Err(refused(&error)),
    }
}

/// The file with options of whoever calls: the one that is named, else
/// `~/.saltrc` where there is one. The home may be that of somebody else, left by
/// `sudo`: then it is ignored.
fn own_file(environment: &Environment, screen: &mut Screen) -> Option<PathBuf> {
    if let Some(named) = &environment.client_config {
        return Some(named.clone());
    }
    let path = environment.home.as_ref()?.join(".saltrc");
    match open_trusted(&path) {
        Ok(file) => file.map(|_| path),
        Err(why) => {
            screen.error_line(&why);
            None
        }
    }
}

/// The options of logging: of the command line, else of the configuration.
pub fn log_options(
    logging: &Logging,
    level: Option<LogLevel>,
    given: &LoggingOptions,
) -> LogOptions {
    let level_of = |name: &LevelName| Level::parse(&name.0).unwrap_or(Level::Warning);
    let typed = |level: Option<LogLevel>| level.and_then(|level| Level::parse(level.name()));
    let configured = level_of(&logging.level);
    let file_level = typed(given.log_file_level)
        .or_else(|| logging.file_level.as_ref().map(level_of))
        // What is asked for on the console is for the console.
        .unwrap_or(configured);
    let mut options = LogOptions {
        console_level: Some(typed(level).unwrap_or(configured)),
        file: given
            .log_file
            .clone()
            .or_else(|| Some(logging.file.clone())),
        file_level,
        rotation: logging.rotation,
        ..LogOptions::default()
    };
    let set = |field: &mut String, value: &Option<String>| {
        if let Some(value) = value {
            field.clone_from(value);
        }
    };
    set(&mut options.console_format, &logging.console.format);
    set(&mut options.console_date_format, &logging.console.date);
    set(&mut options.file_format, &logging.lines.format);
    set(&mut options.file_date_format, &logging.lines.date);
    let granular = logging.granular.iter();
    options.granular = granular
        .map(|(part, level)| (own_name(part), level_of(level)))
        .collect();
    options
}

/// A part of the program by our name: `salt` is all of it, `salt.minion` is
/// `halite_minion`.
fn own_name(part: &str) -> String {
    match part.strip_prefix("salt") {
        Some("") => "halite".to_owned(),
        Some(rest) if rest.starts_with('.') => {
            format!("halite_{}", rest.trim_start_matches('.').replace('.', "::"))
        }
        _ => part.to_owned(),
    }
}

/// Sets up logging of a program that is no daemon. The log file of the
/// configuration is that of a daemon: it is used where it can be, and no
/// directory is made for it.
///
/// # Errors
/// When it cannot be set up.
pub fn logs(
    logging: &Logging,
    level: Option<LogLevel>,
    given: &LoggingOptions,
) -> Result<(), Stop> {
    let mut options = log_options(logging, level, given);
    let is_named = given.log_file.is_some();
    let parent = options.file.as_deref().and_then(Path::parent);
    if !is_named && !is_address(&logging.file) && !parent.is_some_and(Path::is_dir) {
        options.file = None;
    }
    let mut set_up = logging::init(&options);
    if !is_named && matches!(set_up, Err(LogError::Open { .. })) {
        options.file = None;
        set_up = logging::init(&options);
    }
    set_up.map(drop).map_err(|error| Stop {
        stdout: String::new(),
        stderr: format!("{}\n", crate::chain(&error)),
        exit: Exit::Unavailable,
    })
}

/// Whether a log is the system's or another machine's.
fn is_address(log: &Path) -> bool {
    log.to_str().is_some_and(|log| log.contains("://"))
}

fn refused(error: &ConfigError) -> Stop {
    Stop {
        stdout: String::new(),
        stderr: format!("{}\n", error.render()),
        exit: Exit::ClientConfig,
    }
}

/// The runtime of a program that is no daemon: one thread.
///
/// # Errors
/// When the system has no resources for it.
pub fn runtime() -> Result<tokio::runtime::Runtime, Stop> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop {
            stdout: String::new(),
            stderr: format!("could not start: {error}\n"),
            exit: Exit::Failure,
        })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn options_in_a_home_count_if_nobody_else_may_write_them() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment {
            home: Some(home.path().to_owned()),
            ..Environment::default()
        };
        let path = home.path().join(".saltrc");
        fs::write(&path, "timeout: 9\n").unwrap();
        for (mode, is_used) in [(0o644, true), (0o666, false)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let mut said = Vec::new();
            let mut screen = Screen::to_writers(std::io::sink(), &mut said);
            let found = own_file(&environment, &mut screen);
            drop(screen);
            assert_eq!(found.is_some(), is_used);
            assert_eq!(said.is_empty(), is_used);
        }
    }

    #[test]
    fn parts_of_salt_have_names_here() {
        for (salt, ours) in [
            ("salt", "halite"),
            ("salt.minion", "halite_minion"),
            ("salt.transport.zeromq", "halite_transport::zeromq"),
            ("saltines", "saltines"),
            ("halite_minion", "halite_minion"),
        ] {
            assert_eq!(own_name(salt), ours);
        }
    }
}
