//! Pillar: tops, SLS files and external pillars to one map per minion.
//!
//! [`Compiler`] reads the options once and compiles for any minion; what it
//! needs beside files - renderers, functions, commands - it asks of a
//! [`World`]. [`compile`] is it with the real one.
//!
//! Invariant: no value of a pillar reaches a log.

pub mod limits;

mod compile;
mod decrypt;
mod ext;
mod house;
mod local_files;
mod merge;
mod settings;
mod sls;
mod top;
mod tops;
mod tree;
mod workshop;
mod world;

pub use compile::{Compiler, Request, extra_minion_data};
pub use ext::{Module, NAMES as EXTERNAL_PILLARS};
pub use house::{CollectGrains, House, RunRunner};
pub use local_files::LocalFiles;
pub use merge::{Merging, Strategy};
pub use settings::SettingsError;
pub use top::Top;
pub use tree::Found;
pub use workshop::{compile, top};
pub use world::{Failure, Known, Sls, World};
