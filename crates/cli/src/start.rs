//! The way from a command line to a running program: configuration and logs.

use std::path::{Path, PathBuf};

use halite_config::{ConfigError, HostNames, LoadOptions, MasterConfig, load_client};
use halite_process::logging::{self, Level, LogOptions};

use crate::environment::Environment;
use crate::options::{CommonOptions, ConsoleOptions, LogLevel, LoggingOptions, Stop};
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
        overrides: Vec::new(),
        // No command waits for a store of secrets.
        behind: None,
        host_names: HostNames::gather(Path::new("/")),
    });
    match loaded {
        Ok(loaded) => Ok(loaded.config),
        Err(error) => Err(refused(&error)),
    }
}

/// Sets up logging to the console: at the option's level, else the
/// configuration's.
///
/// # Errors
/// When it cannot be set up.
pub fn logs(level: Option<LogLevel>, configured: &str) -> Result<(), Stop> {
    logs_with(level, &LoggingOptions::default(), configured)
}

/// Sets up logging as the options of a program say, else the configuration.
///
/// # Errors
/// When it cannot be set up.
pub fn logs_of(options: &ConsoleOptions, configured: &str) -> Result<(), Stop> {
    logs_with(options.log_level, &options.logging, configured)
}

/// The same, and to a file if one is given.
///
/// # Errors
/// When it cannot be set up.
pub fn logs_with(
    level: Option<LogLevel>,
    options: &LoggingOptions,
    configured: &str,
) -> Result<(), Stop> {
    let level_of = |name: &str| Level::parse(name).unwrap_or(Level::Warning);
    let name = level.map_or(configured, |level| level.name());
    let file_level = options.log_file_level.map_or(name, |level| level.name());
    let options = LogOptions {
        console_level: Some(level_of(name)),
        file: options.log_file.clone(),
        file_level: level_of(file_level),
        ..LogOptions::default()
    };
    match logging::init(&options) {
        Ok(_) => Ok(()),
        Err(error) => Err(Stop {
            stdout: String::new(),
            stderr: format!("{}\n", crate::chain(&error)),
            exit: Exit::Unavailable,
        }),
    }
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
