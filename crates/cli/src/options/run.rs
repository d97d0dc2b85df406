//! The options of `salt-run`.

use clap::Parser;

use super::groups::{NO_PROFILES, first_given};
use super::{
    CommonOptions, ConsoleOptions, LoginOptions, OutputOptions, ParseOptions, Program, Stop,
};

/// Runs functions of the master.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt-run",
    override_usage = "salt-run [options] <function> [arguments]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub struct RunOptions {
    /// Options of every program.
    #[command(flatten)]
    pub common: CommonOptions,

    /// Seconds to wait for minions, where the function asks any.
    #[arg(short, long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub timeout: Option<i64>,

    /// The job id to use instead of a new one.
    #[arg(long, value_name = "JID", allow_hyphen_values = true)]
    pub jid: Option<String>,

    /// Start the function and do not wait for its end.
    #[arg(long = "async")]
    pub is_async: bool,

    /// Show the documentation of a runner, a function or all of them.
    #[arg(short, long, visible_alias = "documentation")]
    pub doc: bool,

    /// Accepted for Salt's sake: no grains are collected.
    #[arg(long)]
    pub skip_grains: bool,

    /// Do not show results.
    #[arg(long, help_heading = "Output Options")]
    pub quiet: bool,

    /// Measure where time goes.
    #[arg(long)]
    pub enable_profiling: bool,

    /// Where measurements go.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub profiling_path: Option<String>,

    /// How words become values.
    #[command(flatten)]
    pub parse: ParseOptions,

    /// How results are shown.
    #[command(flatten)]
    pub output: OutputOptions,

    /// What is logged, and where.
    #[command(flatten)]
    pub console: ConsoleOptions,

    /// Logging in.
    #[command(flatten)]
    pub login: LoginOptions,

    /// The function and its arguments.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
}

impl Program for RunOptions {
    const NAME: &'static str = "salt-run";
    const USAGE: &'static str = "[options] <function> [arguments]";

    fn common(&self) -> &CommonOptions {
        &self.common
    }

    fn reads_stdin(&self) -> bool {
        self.parse.args_stdin
    }

    fn unsupported(&self) -> Option<(&'static str, &'static str)> {
        let given = first_given(&[
            (self.enable_profiling, "--enable-profiling"),
            (self.profiling_path.is_some(), "--profiling-path"),
        ]);
        given.map(|option| (option, NO_PROFILES))
    }
}

impl RunOptions {
    /// Refuses what does not go together.
    ///
    /// # Errors
    /// When documentation of several functions is asked for, or the job id is
    /// none.
    pub fn check(&self) -> Result<(), Stop> {
        if self.doc && self.words.len() > 1 {
            return Err(Stop::usage::<Self>(
                "You can only get documentation for one method at one time",
            ));
        }
        if let Some(jid) = &self.jid
            && !(jid.len() == JID_DIGITS && jid.bytes().all(|byte| byte.is_ascii_digit()))
        {
            return Err(Stop::usage::<Self>(&format!("'{jid}' is not a valid JID")));
        }
        Ok(())
    }
}

const JID_DIGITS: usize = 20;
