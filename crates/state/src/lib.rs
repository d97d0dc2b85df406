//! The state engine without effects: SLS data to low chunks, and the order in which they run.
//!
//! [`compile`] asks a [`SlsSource`] for rendered SLS files and makes high data
//! of them; [`high`] checks and transforms high data (`extend`, the `_in`
//! requisites, `exclude`); [`low`] makes chunks of it and puts them in order.
//!
//! Invariant: nothing here reads a file, a clock or the network.

pub mod chunk;
pub mod compile;
pub mod graph;
pub mod high;
pub mod keywords;
pub mod low;
pub mod mistake;
pub mod requisite;
pub mod run;
pub mod source;
mod text;

pub use chunk::Chunk;
pub use compile::Compiler;
pub use graph::{Graph, Turn};
pub use low::{Low, LowOptions};
pub use mistake::{About, Mistake};
pub use requisite::Requisite;
pub use source::{RenderFault, Rendered, Settings, SlsSource};
