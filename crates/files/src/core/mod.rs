//! The common parts of all file functions.

pub(crate) mod attributes;
pub(crate) mod backup;
pub(crate) mod compare;
pub(crate) mod dirs;
pub(crate) mod hash;
pub(crate) mod lines;
pub(crate) mod link;
pub(crate) mod mode;
pub(crate) mod open;
pub(crate) mod owner;
pub(crate) mod path;
pub(crate) mod perms;
pub(crate) mod regex;
pub(crate) mod text;
pub(crate) mod write;

pub(crate) use halite_call::diff;
