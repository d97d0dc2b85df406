//! When jobs begin, and who counts them: a real minion begins at once. A process
//! that holds thousands of minions uses this to spread their work.

use std::time::Duration;

use halite_proto::publish::PublishLoad;

/// Watches the jobs that masters publish. Called on the async thread: nothing
/// here may block.
pub trait Pace: Send + Sync {
    /// How long a job that was taken waits before it begins. Whoever looks for
    /// it finds it running meanwhile.
    fn pause(&self, load: &PublishLoad) -> Duration;

    /// A job is through: its return was acknowledged by the master that asked,
    /// or waits in the spool.
    fn through(&self, acknowledged: bool);
}
