//! What masters are compared by.

pub(crate) mod facts;
