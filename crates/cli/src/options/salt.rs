//! The options of `salt`.

use clap::{Args, Parser};

use super::groups::NO_ROSTERS;
use super::usage::help;
use super::{
    CommonOptions, ConsoleOptions, ExecutorOptions, LoginOptions, OutputOptions, ParseOptions,
    Program, Stop,
};
use crate::Exit;

/// What kind of expression the target is.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Target Options")]
pub struct TargetOptions {
    /// The target is a regular expression.
    #[arg(short = 'E', long)]
    pub pcre: bool,

    /// The target is a list of ids, with commas or blanks between them.
    #[arg(short = 'L', long)]
    pub list: bool,

    /// The target is a grain and a glob: `os:Arch*`.
    #[arg(short = 'G', long)]
    pub grain: bool,

    /// The target is a grain and a regular expression.
    #[arg(short = 'P', long)]
    pub grain_pcre: bool,

    /// The target is a group of the master's configuration.
    #[arg(short = 'N', long)]
    pub nodegroup: bool,

    /// The target is an expression for the range server: `%web`.
    #[arg(short = 'R', long)]
    pub range: bool,

    /// The target is a compound expression: `G@os:Debian and not web*`.
    #[arg(short = 'C', long)]
    pub compound: bool,

    /// The target is a pillar value and a glob: `role:web*`.
    #[arg(short = 'I', long)]
    pub pillar: bool,

    /// The target is a pillar value and a regular expression.
    #[arg(short = 'J', long)]
    pub pillar_pcre: bool,

    /// The target is an address or a network.
    #[arg(short = 'S', long)]
    pub ipcidr: bool,

    /// Not supported: the hosts of the rosters of salt-ssh.
    #[arg(short = 'H', long)]
    pub hosts: bool,

    /// What stands between the parts of a grain's or pillar's name.
    #[arg(
        long,
        value_name = "CHARACTER",
        default_value = ":",
        allow_hyphen_values = true
    )]
    pub delimiter: String,
}

impl TargetOptions {
    /// The options that were given, each with the name its kind has on the
    /// wire.
    fn given(&self) -> Vec<(&'static str, &'static str)> {
        [
            (self.hosts, "--hosts", "list_hosts"),
            (self.pcre, "--pcre", "pcre"),
            (self.list, "--list", "list"),
            (self.grain, "--grain", "grain"),
            (self.grain_pcre, "--grain-pcre", "grain_pcre"),
            (self.nodegroup, "--nodegroup", "nodegroup"),
            (self.range, "--range", "range"),
            (self.compound, "--compound", "compound"),
            (self.pillar, "--pillar", "pillar"),
            (self.pillar_pcre, "--pillar-pcre", "pillar_pcre"),
            (self.ipcidr, "--ipcidr", "ipcidr"),
        ]
        .into_iter()
        .filter_map(|(given, option, kind)| given.then_some((option, kind)))
        .collect()
    }

    /// The target's kind by the name it has on the wire.
    pub fn kind(&self) -> &'static str {
        self.given().first().map_or("glob", |(_, kind)| kind)
    }
}

/// Commands minions and shows what they return.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt",
    override_usage = "salt [options] '<target>' <function> [arguments]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub struct SaltOptions {
    /// Options of every program.
    #[command(flatten)]
    pub common: CommonOptions,

    /// Seconds to wait for minions; the configuration's `timeout` unless it is
    /// above 0.
    #[arg(short, long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub timeout: Option<i64>,

    /// Show the results of all minions at once, when all have returned.
    #[arg(short = 's', long = "static")]
    pub is_static: bool,

    /// Show on the terminal how far the job is.
    #[arg(short, long)]
    pub progress: bool,

    /// Stop a batch at the first failure.
    #[arg(long)]
    pub failhard: bool,

    /// Start the job and do not wait for results.
    #[arg(long = "async")]
    pub is_async: bool,

    /// Run on this many of the targeted minions, at random.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub subset: Option<i64>,

    /// Say more: the job's id, and who failed.
    #[arg(short, long)]
    pub verbose: bool,

    /// Accepted for Salt's sake, where it hides nothing either.
    #[arg(long)]
    pub hide_timeout: bool,

    /// Show the job's id.
    #[arg(long)]
    pub show_jid: bool,

    /// Run on this many minions at a time, or on this part of them (10%).
    #[arg(
        short,
        long,
        visible_alias = "batch-size",
        value_name = "N",
        allow_hyphen_values = true
    )]
    pub batch: Option<String>,

    /// Seconds to wait behind each job of a batch.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub batch_wait: Option<f64>,

    /// Run as a batch from this many minions on.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch_safe_limit: Option<i64>,

    /// The batch's size then.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub batch_safe_size: Option<String>,

    /// Returners that the minions send the results to, too.
    #[arg(long = "return", value_name = "RETURNERS", allow_hyphen_values = true)]
    pub returners: Option<String>,

    /// Which of its configurations a returner takes.
    #[arg(
        long = "return_config",
        value_name = "NAME",
        allow_hyphen_values = true
    )]
    pub return_config: Option<String>,

    /// Options for the returners.
    #[arg(
        long = "return_kwargs",
        value_name = "OPTIONS",
        allow_hyphen_values = true
    )]
    pub return_kwargs: Option<String>,

    /// Show the documentation of a module, a function or all of them.
    #[arg(short, long, visible_alias = "documentation")]
    pub doc: bool,

    /// The word between the arguments of several functions.
    #[arg(
        long,
        value_name = "WORD",
        default_value = ",",
        allow_hyphen_values = true
    )]
    pub args_separator: String,

    /// Show how many minions returned, and how.
    #[arg(long)]
    pub summary: bool,

    /// Data that is kept with the job.
    #[arg(long, value_name = "DATA", allow_hyphen_values = true)]
    pub metadata: Option<String>,

    /// Ask minions for an event when they begin.
    #[arg(long)]
    pub start_event: bool,

    /// Show only states with changes.
    #[arg(long)]
    pub output_diff: bool,

    /// Show the master's configuration.
    #[arg(long)]
    pub config_dump: bool,

    /// Show whom the target means, and do nothing.
    #[arg(long)]
    pub preview_target: bool,

    /// What minions run functions through.
    #[command(flatten)]
    pub executors: ExecutorOptions,

    /// How words become values.
    #[command(flatten)]
    pub parse: ParseOptions,

    /// What kind of expression the target is.
    #[command(flatten)]
    pub target: TargetOptions,

    /// How results are shown.
    #[command(flatten)]
    pub output: OutputOptions,

    /// What is logged, and where.
    #[command(flatten)]
    pub console: ConsoleOptions,

    /// Logging in.
    #[command(flatten)]
    pub login: LoginOptions,

    /// The target, the function and its arguments.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

impl Program for SaltOptions {
    const NAME: &'static str = "salt";
    const USAGE: &'static str = "[options] '<target>' <function> [arguments]";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn reads_stdin(&self) -> bool {
        self.parse.args_stdin
    }

    fn unsupported(&self) -> Option<(&'static str, &'static str)> {
        self.target.hosts.then_some(("--hosts", NO_ROSTERS))
    }
}

impl SaltOptions {
    /// Refuses options that cannot stand beside each other.
    ///
    /// # Errors
    /// When two kinds of target were given.
    pub fn check(&self) -> Result<(), Stop> {
        let given = self.target.given();
        if given.len() > 1 {
            let options: Vec<_> = given.iter().map(|(option, _)| *option).collect();
            return Err(Stop::usage::<Self>(&format!(
                "The options {} are mutually exclusive. Please only choose one of them",
                options.join("/")
            )));
        }
        if self.subset.is_some_and(|count| count < 1) {
            return Err(Stop::usage::<Self>("option --subset: at least one minion"));
        }
        Ok(())
    }

    /// The end of a command that is not complete: the help, and `why` in one
    /// line.
    pub fn incomplete(why: &str) -> Stop {
        Stop {
            stdout: help::<Self>(),
            stderr: format!("\n{why}\n\n"),
            exit: Exit::Incomplete,
        }
    }
}
