//! The options of `salt-cp`.

use clap::Parser;

use super::groups::NO_ROSTERS;
use super::{CommonOptions, ConsoleOptions, OutputOptions, Program, Stop};

/// Copies files to minions.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt-cp",
    override_usage = "salt-cp [options] '<target>' SOURCE [SOURCE2 SOURCE3 ...] DEST",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub struct CpOptions {
    /// Options of every program.
    #[command(flatten)]
    pub common: CommonOptions,

    /// Seconds to wait for minions.
    #[arg(short, long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub timeout: Option<i64>,

    /// Send files in pieces: large ones, binary ones, whole directories, with
    /// their modes.
    #[arg(short = 'C', long)]
    pub chunked: bool,

    /// Do not compress the pieces.
    #[arg(short, long)]
    pub no_compression: bool,

    /// The target is a regular expression.
    #[arg(short = 'E', long, help_heading = "Target Options")]
    pub pcre: bool,

    /// The target is a list of ids, with commas or blanks between them.
    #[arg(short = 'L', long, help_heading = "Target Options")]
    pub list: bool,

    /// The target is a grain and a glob: `os:Arch*`.
    #[arg(short = 'G', long, help_heading = "Target Options")]
    pub grain: bool,

    /// The target is a grain and a regular expression.
    #[arg(short = 'P', long, help_heading = "Target Options")]
    pub grain_pcre: bool,

    /// The target is a group of the master's configuration.
    #[arg(short = 'N', long, help_heading = "Target Options")]
    pub nodegroup: bool,

    /// The target is an expression for the range server: `%web`.
    #[arg(short = 'R', long, help_heading = "Target Options")]
    pub range: bool,

    /// Not supported: the hosts of the rosters of salt-ssh.
    #[arg(short = 'H', long, help_heading = "Target Options")]
    pub hosts: bool,

    /// What stands between the parts of a grain's name.
    #[arg(
        long,
        value_name = "CHARACTER",
        default_value = ":",
        allow_hyphen_values = true,
        help_heading = "Target Options"
    )]
    pub delimiter: String,

    /// Accepted for Salt's sake: errors show their causes here always.
    #[arg(long)]
    pub hard_crash: bool,

    /// How results are shown.
    #[command(flatten)]
    pub output: OutputOptions,

    /// What is logged, and where.
    #[command(flatten)]
    pub console: ConsoleOptions,

    /// The target, the files and where they go.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

impl Program for CpOptions {
    const NAME: &'static str = "salt-cp";
    const USAGE: &'static str = "[options] '<target>' SOURCE [SOURCE2 SOURCE3 ...] DEST";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn unsupported(&self) -> Option<(&'static str, &'static str)> {
        self.hosts.then_some(("--hosts", NO_ROSTERS))
    }
}

impl CpOptions {
    /// The target, the sources and the destination.
    ///
    /// # Errors
    /// When there are too few words, or two kinds of target.
    pub fn parts(&self) -> Result<(&str, &[String], &str), Stop> {
        let given: Vec<&str> = self.kinds().into_iter().map(|(option, _)| option).collect();
        if given.len() > 1 {
            return Err(Stop::usage::<Self>(&format!(
                "The options {} are mutually exclusive. Please only choose one of them",
                given.join("/")
            )));
        }
        match self.words.as_slice() {
            [target, sources @ .., dest] if !sources.is_empty() => Ok((target, sources, dest)),
            _ => Err(Stop::usage::<Self>(
                "a target, a source and a destination are needed",
            )),
        }
    }

    /// The target's kind by the name it has on the wire.
    pub fn kind(&self) -> &'static str {
        self.kinds().first().map_or("glob", |(_, kind)| kind)
    }

    fn kinds(&self) -> Vec<(&'static str, &'static str)> {
        [
            (self.pcre, "--pcre", "pcre"),
            (self.list, "--list", "list"),
            (self.grain, "--grain", "grain"),
            (self.grain_pcre, "--grain-pcre", "grain_pcre"),
            (self.nodegroup, "--nodegroup", "nodegroup"),
            (self.range, "--range", "range"),
        ]
        .into_iter()
        .filter_map(|(given, option, kind)| given.then_some((option, kind)))
        .collect()
    }
}
