//! Salt's log levels.

use std::fmt;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;

/// The target of events that are critical: `tracing` has no such level. They
/// are errors that also show where only critical events do.
pub const CRITICAL: &str = "halite";

/// A level of Salt's, in the order of what they let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything.
    All,
    /// Everything.
    Garbage,
    /// Bytes.
    Trace,
    /// Decisions.
    Debug,
    /// Times of work; here the same as `info`.
    Profile,
    /// The life of the daemon.
    Info,
    /// Degraded and healing itself.
    Warning,
    /// Someone must act.
    Error,
    /// Only what keeps the daemon from working.
    Critical,
    /// Nothing.
    Quiet,
}

impl Level {
    /// All levels, as they are listed to users.
    pub const NAMES: &'static [&'static str] = &[
        "all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical",
        "quiet",
    ];

    /// The level called `name`, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "all" => Self::All,
            "garbage" => Self::Garbage,
            "trace" => Self::Trace,
            "debug" => Self::Debug,
            "profile" => Self::Profile,
            "info" => Self::Info,
            "warning" | "warn" => Self::Warning,
            "error" => Self::Error,
            "critical" => Self::Critical,
            "quiet" => Self::Quiet,
            _ => return None,
        })
    }

    /// What `tracing` has to let through for this level.
    pub(crate) fn filter(self) -> LevelFilter {
        match self {
            Self::All | Self::Garbage | Self::Trace => LevelFilter::TRACE,
            Self::Debug => LevelFilter::DEBUG,
            Self::Profile | Self::Info => LevelFilter::INFO,
            Self::Warning => LevelFilter::WARN,
            Self::Error | Self::Critical => LevelFilter::ERROR,
            Self::Quiet => LevelFilter::OFF,
        }
    }

    /// Whether an event of `level` and `target` shows at this level.
    pub(crate) fn shows(self, level: tracing::Level, target: &str) -> bool {
        level <= self.filter() && (self != Self::Critical || target == CRITICAL)
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::parse(name).ok_or_else(|| {
            format!(
                "{name:?} is not a log level; the levels are {}",
                Self::NAMES.join(", ")
            )
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::Garbage => "garbage",
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Profile => "profile",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Quiet => "quiet",
        })
    }
}

/// The name of an event's level in Salt's logs.
pub(crate) fn name(level: tracing::Level, target: &str) -> &'static str {
    match level {
        tracing::Level::ERROR if target == CRITICAL => "CRITICAL",
        tracing::Level::ERROR => "ERROR",
        tracing::Level::WARN => "WARNING",
        tracing::Level::INFO => "INFO",
        tracing::Level::DEBUG => "DEBUG",
        tracing::Level::TRACE => "TRACE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_written() {
        for name in Level::NAMES {
            assert_eq!(name.parse::<Level>().unwrap().to_string(), *name);
        }
        let error = "loud".parse::<Level>().unwrap_err();
        assert!(error.starts_with("\"loud\" is not a log level; the levels are all, garbage"));
    }
}
