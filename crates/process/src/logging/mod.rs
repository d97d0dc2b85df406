//! Logs as Salt's admins know them: Salt's level names and formats, a console and a
//! file with levels of their own, a file that can be rotated.

mod directory;
mod file;
mod format;
mod layer;
mod level;
mod syslog;
mod time;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tracing::subscriber::SetGlobalDefaultError;
use tracing_subscriber::layer::SubscriberExt;

pub use format::{Format, FormatError};
pub use level::{CRITICAL, Level};

use crate::privileges::User;
use file::LogFile;
use layer::{Output, SaltLayer, Sink};

/// Salt's format of the console.
pub const CONSOLE_FORMAT: &str = "[%(levelname)-8s] %(message)s";
/// Salt's format of the file.
pub const FILE_FORMAT: &str =
    "%(asctime)s,%(msecs)03d [%(name)-17s:%(lineno)-4d][%(levelname)-8s][%(process)d] %(message)s";
/// Salt's time of the console.
pub const CONSOLE_DATE_FORMAT: &str = "%H:%M:%S";
/// Salt's time of the file.
pub const FILE_DATE_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// What is logged, how and where; the fields are Salt's options.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// `log_level`; nothing: no console, as for a daemon.
    pub console_level: Option<Level>,
    /// `log_fmt_console`.
    pub console_format: String,
    /// `log_datefmt_console` or `log_datefmt`.
    pub console_date_format: String,
    /// `log_file`: a path, or the address of another log (`file:///dev/log`).
    pub file: Option<PathBuf>,
    /// `log_level_logfile`, which falls back to `log_level`.
    pub file_level: Level,
    /// `log_fmt_logfile`.
    pub file_format: String,
    /// `log_datefmt_logfile`.
    pub file_date_format: String,
    /// `log_granular_levels`: levels for targets that start with a name.
    pub granular: Vec<(String, Level)>,
    /// `log_rotate_max_bytes` and `log_rotate_backup_count`: how large the file
    /// may become before it is put aside, and how many such files are kept.
    pub rotation: Option<(u64, u64)>,
    /// The file's mode when it is created.
    pub file_mode: u32,
    /// Whose the file is to be, when root opens it for somebody else.
    pub file_owner: Option<User>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            console_level: Some(Level::Warning),
            console_format: CONSOLE_FORMAT.to_owned(),
            console_date_format: CONSOLE_DATE_FORMAT.to_owned(),
            file: None,
            file_level: Level::Warning,
            file_format: FILE_FORMAT.to_owned(),
            file_date_format: FILE_DATE_FORMAT.to_owned(),
            granular: Vec::new(),
            rotation: None,
            file_mode: 0o640,
            file_owner: None,
        }
    }
}

/// Why there are no logs.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file cannot be opened.
    #[error("could not open the log file {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A format cannot be read.
    #[error("bad value of {option}")]
    Format {
        /// The option it came from.
        option: &'static str,
        /// What is wrong.
        #[source]
        source: FormatError,
    },
    /// The address of another log is none.
    #[error("bad option `log_file`: {}: {why}", path.display())]
    Address {
        /// The address.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// Logging was set up before.
    #[error("logging is set up already")]
    Again(#[from] SetGlobalDefaultError),
}

/// The way to the running log: opens its file again.
#[derive(Debug, Clone, Default)]
pub struct Logs {
    file: Option<Arc<LogFile>>,
}

impl Logs {
    /// Opens the file under its name again, after something has moved it away.
    /// On failure the old one is kept.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn reopen(&self) -> Result<(), LogError> {
        self.file.as_ref().map_or(Ok(()), |file| file.reopen())
    }

    /// Opens the file again at each SIGHUP, for ever; to be spawned as a task.
    pub async fn reopen_on_hangup(self) {
        let mut hangups = match crate::shutdown::hangups() {
            Ok(hangups) => hangups,
            Err(error) => {
                tracing::warn!(%error, "could not listen for SIGHUP");
                return;
            }
        };
        while hangups.recv().await.is_some() {
            match self.reopen() {
                Ok(()) => tracing::info!("the log file was opened again"),
                Err(error) => tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "kept the old log file"
                ),
            }
        }
    }
}

/// Sets up logging for the whole process.
///
/// # Errors
/// When the file cannot be opened, a format is bad, or it was done before.
pub fn init(options: &LogOptions) -> Result<Logs, LogError> {
    let (layer, logs) = build(options)?;
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))?;
    Ok(logs)
}

/// Checks what can be checked without opening anything.
///
/// # Errors
/// When a format is bad, or the address of another log.
pub fn check(options: &LogOptions) -> Result<(), LogError> {
    parse(
        &options.console_format,
        &options.console_date_format,
        "log_fmt_console",
    )?;
    parse(
        &options.file_format,
        &options.file_date_format,
        "log_fmt_logfile",
    )?;
    options.file.as_deref().map_or(Ok(()), |file| {
        address(file)?;
        Ok(())
    })
}

/// The log of the system or of another machine that `log_file` names, if it is
/// no file.
fn address(path: &Path) -> Result<Option<syslog::Address>, LogError> {
    syslog::Address::parse(path).map_err(|why| LogError::Address {
        path: path.to_owned(),
        why,
    })
}

fn build(options: &LogOptions) -> Result<(SaltLayer, Logs), LogError> {
    let mut outputs = Vec::new();
    let mut logs = Logs::default();
    if let Some(level) = options.console_level.filter(|level| *level != Level::Quiet) {
        outputs.push(Output {
            level,
            format: parse(
                &options.console_format,
                &options.console_date_format,
                "log_fmt_console",
            )?,
            sink: Sink::Stderr,
        });
    }
    let file = options
        .file
        .as_ref()
        .filter(|file| !file.as_os_str().is_empty() && options.file_level != Level::Quiet);
    if let Some(path) = file {
        let sink = match address(path)? {
            Some(address) => {
                let open = syslog::Syslog::open(&address).map_err(|source| LogError::Open {
                    path: path.clone(),
                    source,
                });
                Sink::Syslog(open?)
            }
            None => {
                let file = Arc::new(LogFile::open(path, options)?);
                logs.file = Some(Arc::clone(&file));
                Sink::File(file)
            }
        };
        outputs.push(Output {
            level: options.file_level,
            format: parse(
                &options.file_format,
                &options.file_date_format,
                "log_fmt_logfile",
            )?,
            sink,
        });
    }
    Ok((SaltLayer::new(outputs, options.granular.clone()), logs))
}

fn parse(format: &str, dates: &str, option: &'static str) -> Result<Format, LogError> {
    Format::parse(format, dates).map_err(|source| LogError::Format { option, source })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn log_to(path: &Path, level: Level) -> (tracing::subscriber::DefaultGuard, Logs) {
        let options = LogOptions {
            console_level: None,
            file: Some(path.to_owned()),
            file_level: level,
            file_format: "%(levelname)-8s|%(name)s|%(message)s".to_owned(),
            granular: vec![("quiet_target".to_owned(), Level::Error)],
            ..LogOptions::default()
        };
        let (layer, logs) = build(&options).unwrap();
        let subscriber = tracing_subscriber::registry().with(layer);
        (tracing::subscriber::set_default(subscriber), logs)
    }

    #[test]
    fn a_rotated_file_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log/minion");
        let (_guard, logs) = log_to(&path, Level::Info);
        tracing::info!(target: "t", jid = 7, who = "m1", "first");
        tracing::debug!(target: "t", "hidden");
        tracing::warn!(target: "quiet_target::inner", "hidden too");
        tracing::error!(target: CRITICAL, "the end");
        let moved = path.with_extension("1");
        fs::rename(&path, &moved).unwrap();
        logs.reopen().unwrap();
        let span = tracing::info_span!(target: "t", "job", jid = "20").entered();
        tracing::error!(target: "t", "new file");
        drop(span);
        assert_eq!(
            fs::read_to_string(&moved).unwrap(),
            "INFO    |t|first jid=7 who=\"m1\"\nCRITICAL|halite|the end\n"
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "ERROR   |t|job{jid=\"20\"}: new file\n"
        );
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 & !0o640, 0);
    }

    #[test]
    fn levels_above_error_hide_errors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (_guard, _logs) = log_to(&path, Level::Critical);
        tracing::error!(target: "t", "hidden");
        tracing::error!(target: CRITICAL, "shown");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "CRITICAL|halite|shown\n"
        );
    }

    #[test]
    fn what_is_wrong_is_found_before_anything_is_opened() {
        check(&LogOptions::default()).unwrap();
        let bad_format = LogOptions {
            file_format: "%(nope)s".to_owned(),
            ..LogOptions::default()
        };
        let error = check(&bad_format).unwrap_err();
        assert_eq!(error.to_string(), "bad value of log_fmt_logfile");
        let log_to = |file: &str| LogOptions {
            file: Some(file.into()),
            ..LogOptions::default()
        };
        check(&log_to("udp://10.0.0.1:514")).unwrap();
        let error = check(&log_to("udp://10.0.0.1:port")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "bad option `log_file`: udp://10.0.0.1:port: the port is none"
        );
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_said_by_name() {
        let options = LogOptions {
            file: Some("/proc/nope/log".into()),
            ..LogOptions::default()
        };
        let error = build(&options).err().unwrap();
        assert_eq!(
            error.to_string(),
            "could not open the log file /proc/nope/log"
        );
    }
}
