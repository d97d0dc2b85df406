//! Memory after the start, and after a burst of work.

use crate::sys;

/// Gives free memory back to the system. The allocator keeps what each thread
/// has ever used; a daemon that idles after a burst has no use for it. Takes a
/// few milliseconds at most.
pub fn give_back() {
    sys::trim_memory();
}

/// Has all threads share one heap, for a program that does one large thing at a
/// time: with a heap for each thread, what one has freed is of no use to the
/// next. To be called before there are threads.
pub fn share_heap() {
    sys::share_heap();
}

/// Has the heap grow in large steps and keep what it has: for a program that
/// does one thing and ends. To be called before there are threads.
pub fn grow_in_steps() {
    sys::share_heap();
    sys::grow_in_steps();
}

/// Gives back what only the start of a program, or a part of its work, has
/// needed: free memory, and the pages of code and constants that were mapped on
/// the way. What runs on maps them again from the system's memory; that costs
/// microseconds.
pub fn settle() {
    give_back();
    sys::unmap_until_used();
}

/// Notices when memory has grown by a quarter, so that a daemon that idles after
/// a burst of work can be as small as before it.
///
/// What is the program's own counts apart from the pages of files: those are as
/// many as the system likes to map.
#[derive(Debug, Default)]
pub struct Settling {
    /// The program's own pages after the first settling.
    own: u64,
    /// All pages when the code that runs on had been mapped again and nothing
    /// else was there.
    all: Option<u64>,
    /// How often settling was of no use since, which is why to wait.
    in_vain: u32,
    waits: u32,
}

/// Pages of a process that are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pages {
    own: u64,
    all: u64,
}

/// How many times a look is left out at most, where settling does not help.
const WAITS_MAX: u32 = 12;

impl Settling {
    /// To be called right after the first [`settle`]: what the program has now
    /// is what it needs.
    pub fn begin() -> Self {
        Self {
            own: resident_pages().map_or(u64::MAX, |pages| pages.own),
            ..Self::default()
        }
    }

    /// Whether it is time for [`settle`], which blocks; to be asked now and then.
    pub fn is_due(&mut self) -> bool {
        resident_pages().is_some_and(|pages| self.judge(pages))
    }

    fn judge(&mut self, now: Pages) -> bool {
        let has_grown = |now: u64, usual: u64| now > usual.saturating_add(usual / 4);
        // Not in the middle of a burst: its code would count as usual.
        if !has_grown(now.own, self.own) && !has_grown(now.all, *self.all.get_or_insert(now.all)) {
            self.in_vain = 0;
            self.waits = 0;
            return false;
        }
        if self.waits > 0 {
            self.waits -= 1;
            return false;
        }
        // The work goes on, or needs what it has: it is tried again, later.
        self.waits = (1_u32 << self.in_vain.min(WAITS_MAX)).min(WAITS_MAX) - 1;
        self.in_vain = self.in_vain.saturating_add(1);
        true
    }
}

fn resident_pages() -> Option<Pages> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut fields = statm.split_ascii_whitespace().skip(1);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let (all, of_files) = (next()?, next()?);
    Some(Pages {
        own: all.saturating_sub(of_files),
        all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_settled_at_once_and_then_less_and_less_often() {
        let mut settling = Settling {
            own: 400,
            ..Settling::default()
        };
        let mut at = |own: u64| {
            settling.judge(Pages {
                own,
                all: 2000 + own,
            })
        };
        // Work that is there at the first look is not usual.
        assert!(at(700));
        assert!(!at(400));
        assert!(!at(500));
        // The pages of files would hide this.
        assert!(at(501));
        let due: Vec<u32> = (0..40).filter(|_| at(600)).collect();
        assert_eq!(due, [0, 2, 6, 14, 26, 38]);
        // It has helped; the next burst counts anew.
        assert!(!at(410));
        assert!(at(600));
    }

    #[test]
    fn code_that_was_let_go_still_runs() {
        settle();
        let mut settling = Settling {
            own: 1,
            ..Settling::begin()
        };
        assert!(settling.is_due());
    }
}
