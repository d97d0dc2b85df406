//! Whether a runner still works, if its master may not say so: one of Salt's forks
//! a process for it, which can die without a return, and a restarted master knows
//! nothing of it.
//!
//! A running runner has a file with its process in the master's `proc` directory.
//! Invariant: a runner is given up only after the file, or the process, was missing
//! for longer than a return can be on its way.

use std::path::Path;
use std::time::{Duration, Instant};

use halite_proto::Jid;
use halite_proto::msgpack::unpack_modern;

/// How often one looks.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a return may be on its way when the file is gone: it is stored
/// before it is told.
const RETURN_WITHIN: Duration = Duration::from_secs(10);

/// How long a master may take to begin: it loads its modules first.
const BEGIN_WITHIN: Duration = Duration::from_secs(15);

/// What was seen of one runner.
#[derive(Debug, Default)]
pub(super) struct RunnerWatch {
    has_begun: bool,
    away_since: Option<Instant>,
}

impl RunnerWatch {
    /// It has told something.
    pub(super) fn heard(&mut self) {
        self.has_begun = true;
        self.away_since = None;
    }

    /// Takes whether it was seen now; whether to give it up.
    pub(super) fn is_lost(&mut self, now: Instant, is_there: bool) -> bool {
        if is_there {
            self.heard();
            return false;
        }
        let since = *self.away_since.get_or_insert(now);
        let patience = match self.has_begun {
            true => RETURN_WITHIN,
            false => BEGIN_WITHIN,
        };
        now.saturating_duration_since(since) >= patience
    }
}

/// Whether a runner's process is there; none where that cannot be seen.
pub(super) fn is_there(cachedir: &Path, jid: &Jid) -> Option<bool> {
    let dir = cachedir.join("proc");
    std::fs::read_dir(&dir).ok()?;
    let Ok(bytes) = std::fs::read(dir.join(jid.as_str())) else {
        return Some(false);
    };
    let job = unpack_modern(&bytes).ok();
    let pid = job.and_then(|job| job.get("pid")?.as_i64());
    // One that is just being written has no process yet.
    Some(pid.is_none_or(|pid| Path::new(&format!("/proc/{pid}")).exists()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use halite_proto::Map;
    use halite_proto::msgpack::pack_modern;

    #[test]
    fn a_runner_is_given_up_when_it_has_been_away_for_long() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut watch = RunnerWatch::default();
        // Its master is slow to begin.
        assert!(!watch.is_lost(start, false));
        assert!(!watch.is_lost(after(14), false));
        assert!(!watch.is_lost(after(20), true));
        // It is gone, comes back once more, and stays away.
        assert!(!watch.is_lost(after(21), false));
        watch.heard();
        assert!(!watch.is_lost(after(32), false));
        assert!(!watch.is_lost(after(41), false));
        assert!(watch.is_lost(after(42), false));
        // One that never began.
        let mut watch = RunnerWatch::default();
        assert!(!watch.is_lost(start, false));
        assert!(watch.is_lost(after(15), false));
    }

    #[test]
    fn a_process_is_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        let jid = Jid::parse("20260102030405000000").unwrap();
        assert_eq!(is_there(dir.path(), &jid), None);
        let proc = dir.path().join("proc");
        std::fs::create_dir(&proc).unwrap();
        assert_eq!(is_there(dir.path(), &jid), Some(false));
        let file = proc.join(jid.as_str());
        for (pid, expected) in [
            (i64::from(std::process::id()), true),
            (i64::from(i32::MAX), false),
        ] {
            let packed = pack_modern(&Map::from([("pid", pid)]).into()).unwrap();
            std::fs::write(&file, packed).unwrap();
            assert_eq!(is_there(dir.path(), &jid), Some(expected));
        }
    }
}
