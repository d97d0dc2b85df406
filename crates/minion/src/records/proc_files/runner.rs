//! The part of a proc file beside the job: which process runs it, and data for this
//! minion only.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use halite_proto::returns::ReturnJid;
use halite_proto::{Map, Value};

use crate::core::origin::JobKey;

/// When the process that `pid` names had started, in the ticks of
/// `/proc/<pid>/stat`; nobody but us sees it.
pub(super) const STARTED: &str = "halite_started";

/// The field with the id under which masters get the result of a job of the minion's own;
/// only the minion reads it.
pub(super) const RETURNED: &str = "halite_returned";

/// Which of the jobs that have the same id it is; nobody but us sees it.
pub(super) const KEY: &str = "halite_key";

/// The position of the start time in a line of `/proc/<pid>/stat`, counted from the
/// state, which is the first word behind the program's name.
const STARTED_AT: usize = 19;

/// The process that a job runs in.
pub(super) struct Runner {
    pid: Option<i64>,
    started: Option<i64>,
    pub(super) returned: Option<ReturnJid>,
    pub(super) key: Option<JobKey>,
}

impl Runner {
    /// Removes and returns the fields that only the minion may see.
    pub(super) fn take(load: &mut Map) -> Self {
        Self {
            pid: load.get("pid").and_then(Value::as_i64),
            started: load.remove(STARTED).and_then(|ticks| ticks.as_i64()),
            returned: load
                .remove(RETURNED)
                .and_then(|jid| returned(jid.as_str()?)),
            key: load
                .remove(KEY)
                .and_then(|key| JobKey::parse(key.as_str()?)),
        }
    }

    /// Whether it is this process.
    pub(super) fn is_ourselves(&self) -> bool {
        self.pid == Some(i64::from(std::process::id()))
    }

    /// Whether it lives: by its start where we have written that down, else by
    /// the rule that Salt has: the command line of the process names salt.
    pub(super) fn lives(&self) -> bool {
        let Some(pid) = self.pid else {
            return false;
        };
        match self.started {
            Some(started) => start_of(&pid.to_string()) == Some(started),
            None if self.is_ourselves() => true,
            None => {
                let cmdline = Path::new("/proc").join(pid.to_string()).join("cmdline");
                fs::read(cmdline).is_ok_and(|line| line.windows(4).any(|word| word == b"salt"))
            }
        }
    }
}

/// What `ProcDir::enter_own` has written.
fn returned(jid: &str) -> Option<ReturnJid> {
    let known = [ReturnJid::Req, ReturnJid::NoCache];
    known.into_iter().find(|known| known.as_str() == jid)
}

/// When this process started.
pub(super) fn own_start() -> Option<i64> {
    static OWN: OnceLock<Option<i64>> = OnceLock::new();
    *OWN.get_or_init(|| start_of("self"))
}

/// When a process started. A process that has ended and is not waited for yet does not
/// count.
fn start_of(process: &str) -> Option<i64> {
    let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat")).ok()?;
    // The name is in parentheses and may have any characters in it.
    let (_, words) = stat.rsplit_once(')')?;
    let mut words = words.split_ascii_whitespace();
    match words.next()? {
        "Z" | "X" => None,
        _ => words.nth(STARTED_AT - 1)?.parse().ok(),
    }
}
