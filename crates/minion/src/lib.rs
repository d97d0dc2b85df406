//! The minion: one link per master, one of everything else.

pub mod core;
