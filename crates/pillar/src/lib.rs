//! Pillar: tops, SLS files and external pillars to one map per minion.
//!
//! [`Compiler`] reads the options once and compiles for any minion; what it needs
//! beside files (renderers, functions, commands) it requests from its [`Effects`].
//! [`compile`] lets a context carry them out.
//!
//! Invariant: no value of a pillar reaches a log.

pub mod limits;

mod compile;
mod compiler;
mod context_effects;
mod decrypt;
mod effects;
mod ext;
mod git_remotes;
mod laid;
mod local_files;
mod masterless;
mod merge;
mod minions_part;
mod options;
mod repository;
mod request;
mod settings;
mod sls;
mod top;
mod tops;
mod tree;

pub use compiler::Compiler;
pub use context_effects::{compile, top};
pub use effects::{Effects, Failure, Known, Module, Sls};
pub use ext::NAMES as EXTERNAL_PILLARS;
pub use git_remotes::{GitPillars, GitRemote, unusable_git_remotes};
pub use local_files::LocalFiles;
pub use masterless::{CollectGrains, MasterlessContext, RunRunner};
pub use merge::{Merging, Strategy};
pub use minions_part::extra_minion_data;
pub use options::SettingsError;
pub use repository::{FileTree, RemotePlace, Repositories};
pub use request::Request;
pub use top::Top;
pub use tree::{Found, GivenRoots};
