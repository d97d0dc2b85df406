//! What a function of a minion is, and how it is called.
//!
//! [`run_function`] is the entry: it finds the function, binds its arguments and
//! turns every result or failure into an [`Outcome`]. Functions see the minion only
//! through [`MinionContext`].

pub mod addresses;
mod aggregation;
pub mod args;
mod call;
mod context;
pub mod curl;
pub mod dicts;
pub mod diff;
pub mod encoding;
mod environment;
mod error;
pub mod extensions;
pub mod file_client;
mod held_files;
pub mod host;
mod host_root;
mod job;
pub mod limits;
pub mod manual;
pub mod mask;
mod one_line;
mod os_error;
pub mod paths;
pub mod python;
mod recall;
mod registry;
pub mod render_context;
pub mod replace;
mod requirement;
pub mod run;
pub mod shlex;
mod signature;
mod signatures;
mod state_beacon;
mod state_return;
mod time_limit;

pub use aggregation::Aggregation;
pub use call::Call;
pub use context::{
    Ahead, Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterAnswer, MasterBus,
    MasterFunction, MinionContext, MinionReturn, MinionsAnswer, MinionsCommand, PillarRequest,
    Refresh, Runners, Upstream,
};
pub use environment::{Environment, Reach};
pub use error::{CallError, CallResult};
pub use extensions::Extensions;
pub use file_client::{FileClient, FileError, SaltUrl, WebFile, redirect_protocols};
pub use halite_state::Chunk;
pub use job::{Cancel, GroupGuard, Job, Notes, Over, StateScope};
pub use one_line::{check_one_line, is_one_line};
pub use os_error::{errno, os_error, os_text, os_text_two};
pub use recall::Recall;
pub use registry::{Function, Module, Registry};
pub use render_context::{CallRenderContext, decrypt};
pub use requirement::{Requirement, Unmet};
pub use run::{Failure, Outcome, run_function, run_plugin, run_state_function, within_call};
pub use signature::{Bound, Param, Signature, SignatureError, default_shell};
pub use signatures::Signatures;
pub use state_beacon::{INTERVAL as BEACON_INTERVAL, add_state_beacon, beacon_value};
pub use state_return::StateReturn;
pub use time_limit::TimeLimit;
