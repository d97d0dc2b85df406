//! What a git that was killed leaves behind, and how the next run of it goes on.
//!
//! Whoever runs git in a repository keeps a record of it on disk meanwhile
//! ([`TrackedRun`] for a single run, [`Pending`] for a clone or an update of
//! several). A record that nobody holds is of a run that was cut off.
//!
//! Invariant: nothing is removed from a repository without such a record, and
//! nothing that a user other than git's own could have put there.

mod interrupted;
mod record;

pub use interrupted::{TrackedRun, is_left_alone, running_gits, user_id, wait_until_ended};
pub use record::{Pending, Record};
