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

/// Gives each large piece back to the system as soon as it is free, for a program that
/// keeps large pieces for a while: the C library would take them from its heaps once it
/// has seen some go, and there the gaps between them add up to as much again.
pub fn keep_large_apart() {
    sys::keep_large_apart();
}

/// Has the heap grow in large steps and keep what it has: for a program that
/// does one thing and ends. To be called before there are threads.
pub fn grow_in_steps() {
    sys::share_heap();
    sys::grow_in_steps();
}

/// Notices when memory has grown by a quarter, so that a daemon that idles after
/// a burst of work can give back what it needed for that.
///
/// Only what the program has written itself counts. Pages of files are the
/// system's to take when it needs them.
#[derive(Debug, Default)]
pub struct Settling {
    /// The program's own pages after the first time.
    own: u64,
    /// Those at the last look.
    last: u64,
    /// Whether they had been as many at the look before it.
    is_at_rest: bool,
    /// How often giving back was of no use since, which is why to wait.
    in_vain: u32,
    waits: u32,
}

/// How many times a look is left out at most, where settling does not help.
const WAITS_MAX: u32 = 12;

/// By which part of itself memory may change while nothing is done.
const REST_PART: u64 = 50;

impl Settling {
    /// To be called right after the first [`give_back`]: what the program has
    /// now is what it needs.
    pub fn begin() -> Self {
        Self {
            own: own_pages().unwrap_or(u64::MAX),
            ..Self::default()
        }
    }

    /// Whether it is time for [`give_back`], which blocks; to be asked now and
    /// then.
    pub fn is_due(&mut self) -> bool {
        own_pages().is_some_and(|own| self.judge(own))
    }

    fn judge(&mut self, own: u64) -> bool {
        let is_at_rest = own.abs_diff(self.last) <= own / REST_PART;
        let was_at_rest = std::mem::replace(&mut self.is_at_rest, is_at_rest);
        self.last = own;
        if own <= self.own.saturating_add(self.own / 4) {
            self.in_vain = 0;
            self.waits = 0;
            return false;
        }
        // A burst that has come to its end is no reason to wait any more.
        let has_ended = is_at_rest && !was_at_rest;
        if self.waits > 0 && !has_ended {
            self.waits -= 1;
            return false;
        }
        // The work goes on, or needs what it has: it is tried again, later.
        self.waits = (1_u32 << self.in_vain.min(WAITS_MAX)).min(WAITS_MAX) - 1;
        self.in_vain = self.in_vain.saturating_add(1);
        true
    }
}

/// The resident pages of this process that are not pages of files.
fn own_pages() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut fields = statm.split_ascii_whitespace().skip(1);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let (all, of_files) = (next()?, next()?);
    Some(all.saturating_sub(of_files))
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
        // Work that is there at the first look is not usual.
        assert!(settling.judge(700));
        assert!(!settling.judge(400));
        assert!(!settling.judge(500));
        assert!(settling.judge(501));
        let due: Vec<u32> = (0..40).filter(|_| settling.judge(600)).collect();
        assert_eq!(due, [0, 1, 5, 13, 25, 37]);
        // It has helped; the next burst counts anew.
        assert!(!settling.judge(410));
        assert!(settling.judge(600));
    }

    #[test]
    fn the_end_of_a_long_burst_is_settled_soon() {
        let mut settling = Settling {
            own: 400,
            ..Settling::default()
        };
        for look in 0..100 {
            settling.judge(1000 + look % 2 * 500);
        }
        // The second look shows that nothing changes any more.
        assert!(!settling.judge(1400));
        assert!(settling.judge(1405));
    }

    #[test]
    fn a_process_that_has_grown_is_noticed() {
        give_back();
        let mut settling = Settling {
            own: 1,
            ..Settling::begin()
        };
        assert!(settling.is_due());
    }
}
