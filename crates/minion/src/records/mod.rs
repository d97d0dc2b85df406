//! What is on disk of the jobs that this minion has begun and of the publications
//! that have arrived, for a later start of it and for other programs of this machine.

pub(crate) mod claims;
pub(crate) mod gates;
pub(crate) mod proc_files;
