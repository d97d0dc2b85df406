//! Memory after the start, and after a burst of work.

use std::path::Path;

use crate::sys;

/// Gives free memory back to the system. The allocator keeps what each thread
/// has ever used; a daemon that idles after a burst has no use for it. Takes a
/// few milliseconds at most.
pub fn give_back() {
    sys::trim_memory();
}

/// Gives back what only the start of a program has needed: free memory, and the
/// pages of code that were mapped on the way. Code that runs on is mapped again
/// when it is called, from memory; that costs microseconds. A program that
/// cannot tell what is mapped keeps it all.
pub fn settle() {
    give_back();
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else {
        return;
    };
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    for line in maps.lines() {
        if let Some((start, end)) = code_of(line, &program) {
            sys::unmap_code_until_called(start, end);
        }
    }
}

/// Notices when memory has grown by a quarter, so that a daemon that idles after
/// a burst of work can be as small as before it.
#[derive(Debug, Default)]
pub struct Settling {
    /// What was in memory when the code that runs on had been mapped again.
    usual: Option<u64>,
}

impl Settling {
    /// Whether it is time for [`settle`], which blocks; to be asked now and then
    /// once a first one is done.
    pub fn is_due(&mut self) -> bool {
        let Some(resident) = resident_pages() else {
            return false;
        };
        let usual = *self.usual.get_or_insert(resident);
        resident > usual.saturating_add(usual / 4)
    }
}

/// Pages of this process that are in memory.
fn resident_pages() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The addresses of a line of `/proc/self/maps` that is code of `program`, read
/// from its file and never written.
fn code_of(line: &str, program: &Path) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    if fields.next()? != "r-xp" || Path::new(fields.nth(3)?) != program {
        return None;
    }
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(start)?, address(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_the_program_is_let_go() {
        let program = Path::new("/usr/bin/salt-minion");
        let line = |rights: &str, path: &str| {
            format!("55d0-55f0 {rights} 00001000 fe:00 1234                       {path}")
        };
        let code = line("r-xp", "/usr/bin/salt-minion");
        assert_eq!(code_of(&code, program), Some((0x55d0, 0x55f0)));
        for other in [
            line("rw-p", "/usr/bin/salt-minion"),
            line("r--p", "/usr/bin/salt-minion"),
            line("r-xp", "/usr/lib/libc.so.6"),
            line("r-xp", ""),
            String::new(),
        ] {
            assert_eq!(code_of(&other, program), None, "{other}");
        }
    }

    #[test]
    fn code_that_was_let_go_still_runs() {
        settle();
        let mut settling = Settling::default();
        assert!(!settling.is_due(), "the first look says what is usual");
        settling.usual = Some(1);
        assert!(settling.is_due());
        assert_eq!(code_of("", Path::new("/")), None);
    }
}
