//! The options of `salt-key`.

mod action;

use std::path::PathBuf;

use clap::Parser;

use super::{CommonOptions, EauthOptions, LogLevel, LoggingOptions, OutputOptions, Program};

pub use action::{KeyAction, ListedState};

/// The smallest and the largest key that is made.
const KEY_BITS: (u32, u32) = (2048, 32768);

/// Manages the keys of minions.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "salt-key",
    override_usage = "salt-key [options]",
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true
)]
pub struct KeyOptions {
    /// Options of every program.
    #[command(flatten)]
    pub common: CommonOptions,

    /// The user to run as.
    #[arg(short, long, allow_hyphen_values = true)]
    pub user: Option<String>,

    /// Accepted for Salt's sake: errors show their causes here always.
    #[arg(long)]
    pub hard_crash: bool,

    /// Say less.
    #[arg(short, long)]
    pub quiet: bool,

    /// Answer yes to all questions.
    #[arg(short, long)]
    pub yes: bool,

    /// Whether deleting and rejecting makes the master change its session key:
    /// true or false.
    #[arg(long, value_name = "BOOL", allow_hyphen_values = true)]
    pub rotate_aes_key: Option<String>,

    /// Whether deleting keeps the data of the minions: true or false.
    #[arg(long, value_name = "BOOL", allow_hyphen_values = true)]
    pub preserve_minions: Option<String>,

    /// How much is logged to the console.
    #[arg(long, value_name = "LEVEL", help_heading = "Logging Options")]
    pub log_level: Option<LogLevel>,

    /// The other options of logging.
    #[command(flatten)]
    pub logging: LoggingOptions,

    /// How results are shown.
    #[command(flatten)]
    pub output: OutputOptions,

    /// List keys: pre, un, unaccepted, acc, accepted, rej, rejected, den,
    /// denied or all.
    #[arg(
        short,
        long,
        value_name = "STATE",
        help_heading = "Actions",
        allow_hyphen_values = true
    )]
    pub list: Option<String>,

    /// List all keys; done where no other action is given.
    #[arg(short = 'L', long, help_heading = "Actions")]
    pub list_all: bool,

    /// Accept the pending keys that match a glob.
    #[arg(
        short,
        long,
        value_name = "GLOB",
        help_heading = "Actions",
        allow_hyphen_values = true
    )]
    pub accept: Option<String>,

    /// Accept all pending keys.
    #[arg(short = 'A', long, help_heading = "Actions")]
    pub accept_all: bool,

    /// Reject the pending keys that match a glob.
    #[arg(
        short,
        long,
        value_name = "GLOB",
        help_heading = "Actions",
        allow_hyphen_values = true
    )]
    pub reject: Option<String>,

    /// Reject all pending keys.
    #[arg(short = 'R', long, help_heading = "Actions")]
    pub reject_all: bool,

    /// Accept rejected keys too, or reject accepted ones.
    #[arg(long, help_heading = "Actions")]
    pub include_all: bool,

    /// Reject accepted keys too.
    #[arg(long, help_heading = "Actions")]
    pub include_accepted: bool,

    /// Accept rejected keys too.
    #[arg(long, help_heading = "Actions")]
    pub include_rejected: bool,

    /// Accept or reject denied keys too.
    #[arg(long, help_heading = "Actions")]
    pub include_denied: bool,

    /// Print the keys that match a glob.
    #[arg(
        short,
        long,
        value_name = "GLOB",
        help_heading = "Actions",
        allow_hyphen_values = true
    )]
    pub print: Option<String>,

    /// Print all keys.
    #[arg(short = 'P', long, help_heading = "Actions")]
    pub print_all: bool,

    /// Delete the keys that match a glob.
    #[arg(
        short,
        long,
        value_name = "GLOB",
        help_heading = "Actions",
        allow_hyphen_values = true
    )]
    pub delete: Option<String>,

    /// Delete all keys.
    #[arg(short = 'D', long, help_heading = "Actions")]
    pub delete_all: bool,

    /// Print the fingerprints of the keys that match a glob.
    #[arg(
        short,
        long,
        value_name = "GLOB",
        help_heading = "Actions",
        allow_hyphen_values = true
    )]
    pub finger: Option<String>,

    /// Print the fingerprints of all keys.
    #[arg(short = 'F', long, help_heading = "Actions")]
    pub finger_all: bool,

    /// Make a key pair of this name.
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Key Generation Options",
        allow_hyphen_values = true
    )]
    pub gen_keys: Option<String>,

    /// Where the pair is put.
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        help_heading = "Key Generation Options",
        allow_hyphen_values = true
    )]
    pub gen_keys_dir: PathBuf,

    /// The size of the pair's keys in bits.
    #[arg(
        long,
        value_name = "BITS",
        default_value_t = KEY_BITS.0,
        help_heading = "Key Generation Options",
        allow_hyphen_values = true
    )]
    pub keysize: u32,

    /// Give the master a new key pair, signed by the old one, so that minions of
    /// Halite follow.
    #[arg(long, help_heading = "Key Generation Options")]
    pub renew_master_key: bool,

    /// Sign the master's public key.
    #[arg(long, help_heading = "Key Generation Options")]
    pub gen_signature: bool,

    /// The private key to sign with.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Key Generation Options",
        allow_hyphen_values = true
    )]
    pub r#priv: Option<PathBuf>,

    /// The public key to sign.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Key Generation Options",
        allow_hyphen_values = true
    )]
    pub r#pub: Option<PathBuf>,

    /// Where the signature is put.
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Key Generation Options",
        allow_hyphen_values = true
    )]
    pub signature_path: Option<PathBuf>,

    /// Make the pair to sign with if there is none.
    #[arg(long, help_heading = "Key Generation Options")]
    pub auto_create: bool,

    /// Put the master's key pair and the keys of its minions into a file,
    /// behind a passphrase.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Key Transfer Options",
        allow_hyphen_values = true
    )]
    pub export: Option<PathBuf>,

    /// Add the keys of such a file.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Key Transfer Options",
        allow_hyphen_values = true
    )]
    pub import: Option<PathBuf>,

    /// A file whose first line is the passphrase; else it is asked for.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Key Transfer Options",
        allow_hyphen_values = true
    )]
    pub passphrase_file: Option<PathBuf>,

    /// The way to log in.
    #[arg(
        long = "auth",
        visible_aliases = ["eauth", "external-auth"],
        value_name = "BACKEND",
        help_heading = "External Authentication",
        allow_hyphen_values = true
    )]
    pub eauth: Option<String>,

    /// The other options of logging in.
    #[command(flatten)]
    pub login: EauthOptions,

    /// Words that belong to no option.
    #[arg(value_name = "WORD", hide = true)]
    pub words: Vec<String>,
}

impl Program for KeyOptions {
    const NAME: &'static str = "salt-key";

    fn common(&self) -> &CommonOptions {
        &self.common
    }
}
