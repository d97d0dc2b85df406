//! The git processes of this machine, and when the current process was started.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::unistd::{SysconfVar, sysconf};

/// How long to wait for a git that has outlived the program that started it.
const SURVIVOR_WAIT_MAX: Duration = Duration::from_secs(30);
const SURVIVOR_POLL: Duration = Duration::from_millis(50);

/// File systems may have coarser times than the clock, and that of the start of
/// the machine is known to the second.
pub(super) const SLACK: Duration = Duration::from_secs(1);

/// Waits for gits that have outlived an earlier run; whether they have ended.
pub fn wait_until_ended(are_at_work: impl Fn() -> bool) -> bool {
    let give_up = Instant::now() + SURVIVOR_WAIT_MAX;
    while are_at_work() {
        if Instant::now() >= give_up {
            return false;
        }
        thread::sleep(SURVIVOR_POLL);
    }
    true
}

/// A process, as `/proc/<pid>/stat` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) is_git: bool,
    /// The processor time that it has used, in ticks.
    pub(crate) ticks: u64,
}

impl Process {
    fn read(dir: &Path) -> Option<Self> {
        let stat = fs::read(dir.join("stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&stat))
    }

    fn parse(stat: &str) -> Option<Self> {
        // The name stands in brackets and may hold anything.
        let (pid, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        let ticks = |at: usize| field(at).parse::<u64>().ok();
        Some(Self {
            pid: pid.parse().ok()?,
            parent: field(1).parse().ok()?,
            group: field(2).parse().ok()?,
            is_git: name == "git" || name.starts_with("git-"),
            ticks: ticks(11)?.wrapping_add(ticks(12)?),
        })
    }

    /// Its directory.
    pub(crate) fn dir(&self) -> PathBuf {
        Path::new("/proc").join(self.pid.to_string())
    }
}

/// All processes, as they are now. A hundred who ask at once share one look, which
/// has begun after each of them has asked.
pub(crate) fn processes() -> Arc<[Process]> {
    static LOOKS: Looks = Looks {
        state: Mutex::new(Look {
            begun: 0,
            is_under_way: false,
            waiting: 0,
            newest: None,
        }),
        ended: Condvar::new(),
    };
    LOOKS.look(|| {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_process = |name: &[u8]| name.iter().all(u8::is_ascii_digit);
        let entries = entries.filter(|entry| is_process(entry.file_name().as_encoded_bytes()));
        entries
            .filter_map(|entry| Process::read(&entry.path()))
            .collect()
    })
}

/// Looks at something that is the same for all.
struct Looks {
    state: Mutex<Look>,
    ended: Condvar,
}

struct Look {
    /// The number of the last look that was begun.
    begun: u64,
    is_under_way: bool,
    /// How many wait for one.
    waiting: usize,
    /// The last one that has ended.
    newest: Option<(u64, Arc<[Process]>)>,
}

impl Looks {
    fn look(&self, look: impl FnOnce() -> Arc<[Process]>) -> Arc<[Process]> {
        let mut state = self.lock();
        let wanted = state.begun + 1;
        loop {
            match &state.newest {
                Some((number, found)) if *number >= wanted => return Arc::clone(found),
                _ if !state.is_under_way => break,
                _ => {
                    state.waiting += 1;
                    let waited = self.ended.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                    state.waiting -= 1;
                }
            }
        }
        state.begun += 1;
        state.is_under_way = true;
        let number = state.begun;
        drop(state);
        let _under_way = UnderWay(self);
        let found = look();
        self.lock().newest = Some((number, Arc::clone(&found)));
        found
    }

    fn lock(&self) -> MutexGuard<'_, Look> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A look that is under way. Those who wait for it go on, however it ends.
struct UnderWay<'a>(&'a Looks);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().is_under_way = false;
        self.0.ended.notify_all();
    }
}

/// The directories in `/proc` of all processes that are git.
pub fn running_gits() -> Vec<PathBuf> {
    let all = processes();
    let gits = all.iter().filter(|process| process.is_git);
    gits.map(Process::dir).collect()
}

/// The processes that are git and that this one has not begun: none of a process group
/// whose leader is its child.
pub(crate) fn gits_of_others() -> Vec<Process> {
    let all = processes();
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let of_child = |process: &Process| {
        let leader = all.iter().find(|other| other.pid == process.group);
        leader.is_some_and(|leader| leader.parent == own)
    };
    let gits = all.iter().filter(|process| process.is_git);
    gits.filter(|git| !of_child(git)).cloned().collect()
}

/// When this process was started. Nothing where the system does not say it.
pub(super) fn process_began() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: u64 = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let hertz = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
    let seconds = boot.trim().parse::<u64>().ok()? + ticks.checked_div(hertz)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + SLACK)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let rest = "S 7 9 9 0 -1 4194560 1 2 3 4 11 31 0 0 20 0 1 0 555 1 2";
        let read = |name: &str| Process::parse(&format!("12 ({name}) {rest}"));
        let git = Process {
            pid: 12,
            parent: 7,
            group: 9,
            is_git: true,
            ticks: 42,
        };
        for name in ["git", "git-upload-pack"] {
            assert_eq!(read(name).as_ref(), Some(&git), "{name}");
        }
        let other = Process {
            is_git: false,
            ..git
        };
        for name in ["gitk", "a) (git", ")"] {
            assert_eq!(read(name).as_ref(), Some(&other), "{name}");
        }
        assert_eq!(Process::parse("12 (git"), None);
    }

    #[test]
    fn own_processes_are_seen() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(processes().iter().any(|process| process.pid == own));
        assert!(!running_gits().contains(&PathBuf::from(format!("/proc/{own}"))));
    }

    #[test]
    fn many_share_a_look_that_began_after_they_asked() {
        let looks = Looks {
            state: Mutex::new(Look {
                begun: 0,
                is_under_way: false,
                waiting: 0,
                newest: None,
            }),
            ended: Condvar::new(),
        };
        let count = AtomicUsize::new(0);
        let (begun, has_begun) = channel();
        let (go_on, wait) = channel::<()>();
        let others = 20;
        thread::scope(|scope| {
            let (looks, count) = (&looks, &count);
            scope.spawn(move || {
                looks.look(|| {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    Arc::new([])
                })
            });
            has_begun.recv().unwrap();
            for _ in 0..others {
                scope.spawn(move || {
                    looks.look(|| {
                        count.fetch_add(1, Ordering::Relaxed);
                        Arc::new([])
                    })
                });
            }
            while looks.lock().waiting < others {
                thread::yield_now();
            }
            go_on.send(()).unwrap();
        });
        assert_eq!(count.into_inner(), 1, "one look for all who have waited");
    }
}
