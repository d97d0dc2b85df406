//! Options that several programs share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use halite_output::Indent;

use crate::screen::ColorWish;

/// Options of every program.
#[derive(Args, Clone, Debug, Default)]
pub struct CommonOptions {
    /// Show the program's version and exit.
    #[arg(long)]
    pub version: bool,

    /// Show the versions of what the program is made of and exit.
    #[arg(short = 'V', long)]
    pub versions_report: bool,

    /// A file with options for the programs; else `Saltfile` in the current
    /// directory or in `~/.salt`.
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub saltfile: Option<PathBuf>,

    /// The directory of the configuration; `/etc/salt` unless
    /// `SALT_CONFIG_DIR` names another.
    #[arg(short, long, value_name = "DIR", allow_hyphen_values = true)]
    pub config_dir: Option<PathBuf>,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names say all there is to say")]
pub enum LogLevel {
    All,
    Garbage,
    Trace,
    Debug,
    Profile,
    Info,
    Warning,
    Error,
    Critical,
    Quiet,
}

impl LogLevel {
    /// The level's name in options and configurations.
    pub const fn name(self) -> &'static str {
        match self {
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
        }
    }
}

/// The log file. The console's level is an option of each program, since it has
/// a short form in some of them only.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Logging Options")]
pub struct LoggingOptions {
    /// The file to log to.
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub log_file: Option<PathBuf>,

    /// How much is logged to the file.
    #[arg(long, value_name = "LEVEL")]
    pub log_file_level: Option<LogLevel>,
}

/// What is logged, for programs that have `-l` for the level.
#[derive(Args, Clone, Debug, Default)]
pub struct ConsoleOptions {
    /// How much is logged to the console.
    #[arg(short, long, value_name = "LEVEL", help_heading = "Logging Options")]
    pub log_level: Option<LogLevel>,

    /// The other options of logging.
    #[command(flatten)]
    pub logging: LoggingOptions,
}

/// How results are shown.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output Options")]
pub struct OutputOptions {
    /// The format to show results in.
    #[arg(
        long = "out",
        visible_alias = "output",
        value_name = "OUTPUTTER",
        allow_hyphen_values = true
    )]
    pub out: Option<String>,

    /// Spaces to indent by; a negative number means one line and none.
    #[arg(
        long,
        visible_alias = "output-indent",
        value_name = "N",
        allow_hyphen_values = true,
        value_parser = parse_indent
    )]
    pub out_indent: Option<Indent>,

    /// Write the results to this file instead.
    #[arg(
        long,
        visible_alias = "output-file",
        value_name = "FILE",
        allow_hyphen_values = true
    )]
    pub out_file: Option<PathBuf>,

    /// Keep what the file of `--out-file` has.
    #[arg(long, visible_alias = "output-file-append")]
    pub out_file_append: bool,

    /// Use no colours.
    #[arg(long, visible_alias = "no-colour")]
    pub no_color: bool,

    /// Use colours, terminal or not.
    #[arg(long, visible_alias = "force-colour")]
    pub force_color: bool,

    /// How the results of states are shown: full, terse, mixed, changes or
    /// filter, and each with `_id` behind it.
    #[arg(
        long,
        alias = "state_output",
        value_name = "MODE",
        allow_hyphen_values = true
    )]
    pub state_output: Option<String>,

    /// Whether states that needed nothing are shown: true or false.
    #[arg(
        long,
        alias = "state_verbose",
        value_name = "BOOL",
        allow_hyphen_values = true
    )]
    pub state_verbose: Option<String>,
}

impl OutputOptions {
    /// What the options say about colours.
    pub fn color_wish(&self) -> ColorWish {
        ColorWish {
            force: self.force_color,
            never: self.no_color,
        }
    }
}

fn parse_indent(text: &str) -> Result<Indent, String> {
    Indent::parse(text).ok_or_else(|| format!("invalid integer value: '{text}'"))
}

/// Logging in as someone, instead of by a key file. The way to log in is an
/// option of each program, since it has a short form in some of them only.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "External Authentication")]
pub struct EauthOptions {
    /// Make a token for later commands.
    #[arg(short = 'T', long)]
    pub make_token: bool,

    /// The name to log in with.
    #[arg(long, allow_hyphen_values = true)]
    pub username: Option<String>,

    /// The password to log in with.
    #[arg(long, allow_hyphen_values = true)]
    pub password: Option<String>,
}

/// Logging in, for programs that have `-a` for the way.
#[derive(Args, Clone, Debug, Default)]
pub struct LoginOptions {
    /// The way to log in.
    #[arg(
        short = 'a',
        long = "auth",
        visible_aliases = ["eauth", "external-auth"],
        value_name = "BACKEND",
        help_heading = "External Authentication",
        allow_hyphen_values = true
    )]
    pub eauth: Option<String>,

    /// The other options of logging in.
    #[command(flatten)]
    pub more: EauthOptions,
}

/// Why `--hosts` is refused.
pub(super) const NO_ROSTERS: &str = "there are no rosters of salt-ssh";

/// Why options of profiling are refused.
pub(super) const NO_PROFILES: &str = "there is no Python to profile";

/// The first option of those that were given.
pub(super) fn first_given(options: &[(bool, &'static str)]) -> Option<&'static str> {
    let given = options.iter().find(|(given, _)| *given);
    given.map(|(_, option)| *option)
}

/// What minions run functions through.
#[derive(Args, Clone, Debug, Default)]
pub struct ExecutorOptions {
    /// The executors to use instead of those in the minions' configuration.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub module_executors: Option<String>,

    /// Options for the executors.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub executor_opts: Option<String>,
}

/// How words become values.
#[derive(Args, Clone, Debug, Default)]
pub struct ParseOptions {
    /// Names of arguments whose values stay text, with commas between them;
    /// `SALT_NO_PARSE` otherwise.
    #[arg(long, value_name = "NAMES", allow_hyphen_values = true)]
    pub no_parse: Option<String>,

    /// Read more options and words from standard input, one a line.
    #[arg(long)]
    pub args_stdin: bool,

    /// Accepted for Salt's sake: errors show their causes here always.
    #[arg(long)]
    pub hard_crash: bool,
}

impl ParseOptions {
    /// The names in `--no-parse`, or in the variable of the environment.
    pub fn no_parse_names(&self, variable: Option<&str>) -> Vec<String> {
        let names = self.no_parse.as_deref().or(variable).unwrap_or_default();
        names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }
}
