//! Which threads the processors serve first.

/// How far a thread of bulk work gives way. Where both want a processor it has a
/// quarter of it beside one that does not give way; where it is alone, all of it.
const BULK_STEPS: i32 = 5;

/// Has the calling thread give way to the others of this process, for good: what it does
/// may wait, and there may be much of it.
pub fn give_way() {
    crate::sys::be_nice(BULK_STEPS);
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    /// What the kernel says of the calling thread.
    fn nice() -> i32 {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, rest) = stat.rsplit_once(')').unwrap();
        rest.split_ascii_whitespace()
            .nth(16)
            .unwrap()
            .parse()
            .unwrap()
    }

    #[test]
    fn one_thread_gives_way_and_no_other() {
        const LOWEST: i32 = 19;
        let before = nice();
        let other = thread::spawn(|| {
            give_way();
            nice()
        });
        assert_eq!(other.join().unwrap(), (before + BULK_STEPS).min(LOWEST));
        assert_eq!(nice(), before);
    }
}
