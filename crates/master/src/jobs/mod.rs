//! What is kept of jobs beside the job cache.

pub(crate) mod job_mirror;
pub(crate) mod missed;
