//! The time of day, for the shell around the pure core.

pub(crate) use halite_process::clock::{
    thread_time, unix_micros as now_micros, unix_timestamp as now_s,
};
