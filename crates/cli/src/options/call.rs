//! The options of `salt-call`.

use std::path::PathBuf;

use clap::Parser;

use super::groups::{NO_PROFILES, first_given};
use super::usage::help;
use super::{
    CommonOptions, ExecutorOptions, LogLevel, LoggingOptions, OutputOptions, ParseOptions, Program,
    Stop,
};

/// Runs a function on this minion.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt-call",
    override_usage = "salt-call [options] <function> [arguments]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub struct CallOptions {
    /// Options of every program.
    #[command(flatten)]
    pub common: CommonOptions,

    /// Show the minion's grains.
    #[arg(short, long)]
    pub grains: bool,

    /// A directory with Python modules: `modules` or `_modules` in it, or itself.
    #[arg(short, long, value_name = "DIR", allow_hyphen_values = true)]
    pub module_dirs: Vec<PathBuf>,

    /// Show the documentation of a module, a function or all of them.
    #[arg(short, long, visible_alias = "documentation")]
    pub doc: bool,

    /// The master to use instead of those in the configuration.
    #[arg(long, value_name = "HOST", allow_hyphen_values = true)]
    pub master: Option<String>,

    /// Returners that the result is sent to, too.
    #[arg(long = "return", value_name = "RETURNERS", allow_hyphen_values = true)]
    pub returners: Option<String>,

    /// Run as if there was no master.
    #[arg(long)]
    pub local: bool,

    /// The directory of files of the base environment.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub file_root: Vec<PathBuf>,

    /// The directory of pillars of the base environment.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub pillar_root: Vec<PathBuf>,

    /// A directory with more state modules in Python.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub states_dir: Vec<PathBuf>,

    /// The directory for what the minion keeps.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub cachedir: Option<PathBuf>,

    /// Exit with the function's return code.
    #[arg(long)]
    pub retcode_passthrough: bool,

    /// Show the job's data with the result.
    #[arg(long)]
    pub metadata: bool,

    /// Data that is kept with the job.
    #[arg(long, value_name = "DATA", allow_hyphen_values = true)]
    pub set_metadata: Option<String>,

    /// The minion's id instead of the one in the configuration.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub id: Option<String>,

    /// Do not collect grains.
    #[arg(long)]
    pub skip_grains: bool,

    /// Collect grains anew.
    #[arg(long)]
    pub refresh_grains_cache: bool,

    /// Do not send the result to the master.
    #[arg(long)]
    pub no_return_event: bool,

    /// Seconds to wait for signing in.
    #[arg(
        short,
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        allow_hyphen_values = true
    )]
    pub timeout: i64,

    /// Show only states with changes.
    #[arg(long)]
    pub output_diff: bool,

    /// The user to run as.
    #[arg(long = "priv", value_name = "USER", allow_hyphen_values = true)]
    pub user: Option<String>,

    /// The id of a proxy.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub proxyid: Option<String>,

    /// Run on the resources of this minion.
    #[arg(short, long)]
    pub resources: bool,

    /// The target among the resources.
    #[arg(long, value_name = "TARGET", allow_hyphen_values = true)]
    pub tgt: Option<String>,

    /// The kind of that target.
    #[arg(long, value_name = "TYPE", allow_hyphen_values = true)]
    pub tgt_type: Option<String>,

    /// Where profiles are put.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub profiling_path: Option<PathBuf>,

    /// Measure where time is spent.
    #[arg(long)]
    pub enable_profiling: bool,

    /// What functions are run through.
    #[command(flatten)]
    pub executors: ExecutorOptions,

    /// How words become values.
    #[command(flatten)]
    pub parse: ParseOptions,

    /// How results are shown.
    #[command(flatten)]
    pub output: OutputOptions,

    /// How much is logged to the console.
    #[arg(short, long, value_name = "LEVEL", help_heading = "Logging Options")]
    pub log_level: Option<LogLevel>,

    /// The other options of logging.
    #[command(flatten)]
    pub logging: LoggingOptions,

    /// The function and its arguments.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

impl Program for CallOptions {
    const NAME: &'static str = "salt-call";
    const USAGE: &'static str = "[options] <function> [arguments]";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn reads_stdin(&self) -> bool {
        self.parse.args_stdin
    }

    fn unsupported(&self) -> Option<(&'static str, &'static str)> {
        if self.proxyid.is_some() {
            return Some(("--proxyid", "there are no proxy minions"));
        }
        let of_resources = first_given(&[
            (self.resources, "--resources"),
            (self.tgt.is_some(), "--tgt"),
            (self.tgt_type.is_some(), "--tgt-type"),
        ]);
        if let Some(option) = of_resources {
            return Some((option, "there are no resources"));
        }
        let profiles = first_given(&[
            (self.profiling_path.is_some(), "--profiling-path"),
            (self.enable_profiling, "--enable-profiling"),
        ]);
        profiles.map(|option| (option, NO_PROFILES))
    }
}

impl CallOptions {
    /// Refuses words that are missing or too many.
    ///
    /// # Errors
    /// When there is no function to run, or one and `--grains`.
    pub fn check(&self) -> Result<(), Stop> {
        if self.words.is_empty() && !self.grains && !self.doc {
            let mut stop = Stop::usage::<Self>("Requires function, --grains or --doc");
            stop.stdout = help::<Self>();
            return Err(stop);
        }
        if !self.words.is_empty() && self.grains {
            return Err(Stop::usage::<Self>(
                "-g/--grains does not accept any arguments",
            ));
        }
        if self.words.len() > 1 && self.doc {
            return Err(Stop::usage::<Self>(
                "You can only get documentation for one method at one time",
            ));
        }
        Ok(())
    }

    /// The line that warns about roots which count with `--local` only.
    pub fn ignored_roots(&self) -> Option<String> {
        if self.local {
            return None;
        }
        let given: Vec<&str> = [
            (!self.file_root.is_empty(), "--file-root"),
            (!self.pillar_root.is_empty(), "--pillar-root"),
            (!self.states_dir.is_empty(), "--states-dir"),
        ]
        .into_iter()
        .filter_map(|(given, option)| given.then_some(option))
        .collect();
        let verb = if given.len() == 1 { "is" } else { "are" };
        (!given.is_empty()).then(|| {
            format!(
                "Warning: {} {verb} ignored because --local was not specified; the remote file \
                 client retrieves these from the master. Re-run with --local to use the local \
                 override.",
                given.join(", ")
            )
        })
    }
}
