//! Logs as Salt's admins know them: Salt's level names and formats, a console
//! and a file with levels of their own, a file that can be rotated away.

mod format;
mod layer;
mod level;
mod time;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tracing::subscriber::SetGlobalDefaultError;
use tracing_subscriber::layer::SubscriberExt;

pub use format::{Format, FormatError};
pub use level::{CRITICAL, Level};

use crate::privileges::User;
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
    /// `log_file`.
    pub file: Option<PathBuf>,
    /// `log_level_logfile`, which falls back to `log_level`.
    pub file_level: Level,
    /// `log_fmt_logfile`.
    pub file_format: String,
    /// `log_datefmt_logfile`.
    pub file_date_format: String,
    /// `log_granular_levels`: levels for targets that start with a name.
    pub granular: Vec<(String, Level)>,
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
    /// Logs of another machine or of syslog.
    #[error("log_file {0:?}: only files are supported; let the service manager forward them")]
    Remote(String),
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
/// When a format is bad or the log would be a remote one.
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
    options.file.as_deref().map_or(Ok(()), check_is_local)
}

fn check_is_local(path: &Path) -> Result<(), LogError> {
    let text = path.to_string_lossy();
    let is_remote = ["file://", "udp://", "tcp://"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    match is_remote {
        true => Err(LogError::Remote(text.into_owned())),
        false => Ok(()),
    }
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
        let file = Arc::new(LogFile::open(path, options)?);
        outputs.push(Output {
            level: options.file_level,
            format: parse(
                &options.file_format,
                &options.file_date_format,
                "log_fmt_logfile",
            )?,
            sink: Sink::File(Arc::clone(&file)),
        });
        logs.file = Some(file);
    }
    Ok((SaltLayer::new(outputs, options.granular.clone()), logs))
}

fn parse(format: &str, dates: &str, option: &'static str) -> Result<Format, LogError> {
    Format::parse(format, dates).map_err(|source| LogError::Format { option, source })
}

/// A file that may be opened again while it is written to.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    mode: u32,
    owner: Option<User>,
    file: Mutex<File>,
}

impl LogFile {
    fn open(path: &Path, options: &LogOptions) -> Result<Self, LogError> {
        check_is_local(path)?;
        let (mode, owner) = (options.file_mode, options.file_owner.clone());
        let file = Self::open_file(path, mode, owner.as_ref())?;
        Ok(Self {
            path: path.to_owned(),
            mode,
            owner,
            file: Mutex::new(file),
        })
    }

    fn open_file(path: &Path, mode: u32, owner: Option<&User>) -> Result<File, LogError> {
        let open = || {
            if let Some(directory) = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
            {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o755)
                    .create(directory)?;
            }
            let file = OpenOptions::new()
                .append(true)
                .create(true)
                .mode(mode)
                .open(path)?;
            if let Some(owner) = owner.filter(|_| crate::privileges::is_root()) {
                chown(path, Some(owner.uid.as_raw()), Some(owner.gid.as_raw()))?;
            }
            Ok(file)
        };
        open().map_err(|source| LogError::Open {
            path: path.to_owned(),
            source,
        })
    }

    fn reopen(&self) -> Result<(), LogError> {
        let file = Self::open_file(&self.path, self.mode, self.owner.as_ref())?;
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(())
    }

    fn write(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not stop the daemon, and there is nowhere to say so.
        let _ = file.write_all(line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
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
        tracing::warn!(target: "t", "still there");
        logs.reopen().unwrap();
        let span = tracing::info_span!(target: "t", "job", jid = "20").entered();
        tracing::error!(target: "t", "new file");
        drop(span);
        assert_eq!(
            fs::read_to_string(&moved).unwrap(),
            "INFO    |t|first jid=7 who=\"m1\"\nCRITICAL|halite|the end\nWARNING |t|still there\n"
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
        let remote = LogOptions {
            file: Some("udp://10.0.0.1:514".into()),
            ..LogOptions::default()
        };
        assert!(matches!(check(&remote), Err(LogError::Remote(_))));
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
