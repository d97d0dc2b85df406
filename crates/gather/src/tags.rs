//! The meaning of an event's tag for a job.
//!
//! Invariant: only whole tags count. Tags that only begin like the master's, and
//! those of jobs whose id only begins alike, are ignored.

use halite_proto::Jid;

const JOBS: &str = "salt/job/";

/// What an event says about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'t> {
    /// The master has announced the job with its minions.
    Announced,
    /// The master has refused it after all.
    Refused,
    /// The minion of that id has returned.
    Return(&'t str),
}

/// How the tags of a job's events begin.
pub(crate) fn prefix(jid: &Jid) -> String {
    format!("{JOBS}{jid}/")
}

/// Whether an event is of this job.
pub(crate) fn is_of(tag: &str, jid: &Jid) -> bool {
    behind(tag, jid).is_some()
}

/// The meaning of an event for a job, if it has any.
pub(crate) fn said<'t>(tag: &'t str, jid: &Jid) -> Option<Said<'t>> {
    match behind(tag, jid)? {
        "new" => Some(Said::Announced),
        "error" => Some(Said::Refused),
        rest => returned(rest).map(Said::Return),
    }
}

/// The minion that returns a job, whichever job it is.
pub(crate) fn return_of_any_job(tag: &str) -> Option<&str> {
    let (_, rest) = tag.strip_prefix(JOBS)?.split_once('/')?;
    returned(rest)
}

/// Whether a master below this one names minions of a job.
pub(crate) fn is_syndic_tag(tag: &str, jid: &Jid) -> bool {
    let named = tag.strip_prefix("syndic/");
    named.is_some_and(|rest| rest.ends_with(&format!("/{jid}")))
}

fn behind<'t>(tag: &'t str, jid: &Jid) -> Option<&'t str> {
    tag.strip_prefix(JOBS)?
        .strip_prefix(jid.as_str())?
        .strip_prefix('/')
}

fn returned(rest: &str) -> Option<&str> {
    let id = rest.strip_prefix("ret/")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}
