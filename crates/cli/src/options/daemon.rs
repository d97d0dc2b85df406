//! The options of `salt-master`, `salt-minion` and `salt-api`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, Parser};

use super::{CommonOptions, LogLevel, LoggingOptions, Program};

/// What daemons have in common.
#[derive(Args, Clone, Debug, Default)]
pub struct DaemonOptions {
    /// Options of every program.
    #[command(flatten)]
    pub common: CommonOptions,

    /// Run in the background.
    #[arg(short, long)]
    pub daemon: bool,

    /// The file that holds the process's id.
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub pid_file: Option<PathBuf>,

    /// The user to run as.
    #[arg(short, long, allow_hyphen_values = true)]
    pub user: Option<String>,

    /// Accepted for Salt's sake: the daemon is one process and restarts
    /// nothing.
    #[arg(long)]
    pub disable_keepalive: bool,

    /// Check the configuration and exit.
    #[arg(long)]
    pub check: bool,

    /// How much is logged to the console.
    #[arg(short, long, value_name = "LEVEL", help_heading = "Logging Options")]
    pub log_level: Option<LogLevel>,

    /// The other options of logging.
    #[command(flatten)]
    pub logging: LoggingOptions,

    /// Words that belong to no option.
    #[arg(value_name = "WORD", hide = true)]
    pub words: Vec<String>,
}

/// Controls the minions.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt-master",
    override_usage = "salt-master [options]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub struct MasterOptions {
    /// What daemons have in common.
    #[command(flatten)]
    pub daemon: DaemonOptions,
}

/// Serves Salt's REST interface beside a master.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt-api",
    override_usage = "salt-api [options]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub struct ApiOptions {
    /// What daemons have in common.
    #[command(flatten)]
    pub daemon: DaemonOptions,
}

/// Receives commands from its masters. With the word `status`: shows what the
/// minion that runs here knows of its masters; exit code 0 if every link that
/// is to be up is ready.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt-minion",
    override_usage = "salt-minion [options]\n       salt-minion [options] status [--out json]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true,
    mut_arg("words", |words| words.hide(false).value_parser(MinionWords).help(
        "`status`: show what the minion that runs here knows of its masters"
    ))
)]
pub struct MinionOptions {
    /// What daemons have in common.
    #[command(flatten)]
    pub daemon: DaemonOptions,

    /// With `status`: how it is shown, `text` or an outputter such as `json`.
    #[arg(long, value_name = "FORMAT", alias = "output")]
    pub out: Option<String>,
}

impl MinionOptions {
    /// Whether the status is asked for.
    pub fn wants_status(&self) -> bool {
        matches!(self.daemon.words.as_slice(), [word] if word == "status")
    }
}

/// The words of `salt-minion`: one means something, completions offer it; as
/// with Salt's programs, others are not refused.
#[derive(Clone, Debug)]
struct MinionWords;

impl TypedValueParser for MinionWords {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(std::iter::once(PossibleValue::new("status"))))
    }
}

impl Program for MasterOptions {
    const NAME: &'static str = "salt-master";

    fn common(&self) -> &CommonOptions {
        &self.daemon.common
    }
}

impl Program for ApiOptions {
    const NAME: &'static str = "salt-api";

    fn common(&self) -> &CommonOptions {
        &self.daemon.common
    }
}

impl Program for MinionOptions {
    const NAME: &'static str = "salt-minion";

    fn common(&self) -> &CommonOptions {
        &self.daemon.common
    }
}
