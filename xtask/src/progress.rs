//! The progress of a build: how many crates are done, which one is next, and how
//! long it has taken.
//!
//! On a terminal this is one line that changes; elsewhere a line every now and
//! then. A build that has nothing to do prints nothing.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

/// How often a line is written where it stays.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// The progress of one build.
pub(crate) struct Progress {
    begun: Instant,
    /// How many crates there are; 0 if that is not known.
    total: usize,
    done: BTreeSet<String>,
    programs: usize,
    current: String,
    last_line: Instant,
    is_terminal: bool,
    is_shown: bool,
}

impl Progress {
    pub(crate) fn new(total: usize) -> Self {
        let now = Instant::now();
        Self {
            begun: now,
            total,
            done: BTreeSet::new(),
            programs: 0,
            current: String::new(),
            last_line: now,
            is_terminal: stderr().is_terminal(),
            is_shown: false,
        }
    }

    /// A crate has been built, or was already there.
    pub(crate) fn built(&mut self, package: &str, is_program: bool) {
        self.done.insert(package.to_owned());
        self.programs += usize::from(is_program);
    }

    /// A line of cargo's, without and with its colours: what it begins is
    /// shown, what is not progress is handed on.
    pub(crate) fn line(&mut self, plain: &str, coloured: &str) {
        match activity(plain) {
            Activity::Begins(what) => {
                what.clone_into(&mut self.current);
                self.show();
            }
            Activity::Ends => {}
            Activity::Other => {
                self.clear();
                let _ = writeln!(stderr(), "{coloured}");
            }
        }
    }

    /// Shows how far the build is, if it is time to.
    pub(crate) fn show(&mut self) {
        if self.current.is_empty() {
            return;
        }
        let text = self.text();
        if self.is_terminal {
            // Erases what the last text was longer by.
            let _ = write!(stderr(), "\r{text}\x1b[K");
            self.is_shown = true;
        } else if self.last_line.elapsed() >= LINE_EVERY {
            let _ = writeln!(stderr(), "{text}");
            self.last_line = Instant::now();
        }
        let _ = stderr().flush();
    }

    /// Removes the line that changes.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }

    /// Says how long it took, if there was anything to do.
    pub(crate) fn end(&mut self) {
        self.clear();
        if !self.current.is_empty() {
            let seconds = self.begun.elapsed().as_secs();
            let _ = writeln!(
                stderr(),
                "built {} crates in {seconds} s",
                self.done.len().max(1)
            );
        }
    }

    fn text(&self) -> String {
        let done = self.done.len();
        let crates = match self.total.max(done) {
            total if self.total > 0 => format!("{done} of {total} crates"),
            _ => format!("{done} crates"),
        };
        let programs = match self.programs {
            0 => String::new(),
            count => format!(", {count} programs and tests"),
        };
        let seconds = self.begun.elapsed().as_secs();
        format!(
            "building: {crates}{programs}, {seconds} s, now {}",
            self.current
        )
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Activity<'l> {
    /// Something that takes time begins.
    Begins(&'l str),
    Ends,
    /// Not progress: warnings, errors, somebody else's lock.
    Other,
}

/// What one of cargo's lines says. Its progress is a verb that ends in the
/// twelfth column.
fn activity(line: &str) -> Activity<'_> {
    let Some((verb, rest)) = line.trim_start().split_once(' ') else {
        return Activity::Other;
    };
    // `verb` begins where the spaces end.
    let indent = line.len() - line.trim_start().len();
    match verb {
        _ if indent + verb.len() != 12 => Activity::Other,
        "Compiling" => Activity::Begins(rest.split(' ').next().unwrap_or(rest)),
        "Downloading" => Activity::Begins("downloads"),
        "Downloaded" | "Finished" | "Locking" | "Updating" | "Adding" => Activity::Ends,
        _ => Activity::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Activity, Progress, activity};

    #[test]
    fn cargos_lines_are_told_apart() {
        assert_eq!(
            activity("   Compiling halite-yaml v0.1.0 (/x)"),
            Activity::Begins("halite-yaml")
        );
        assert_eq!(
            activity(" Downloading crates ..."),
            Activity::Begins("downloads")
        );
        assert_eq!(activity("    Finished `dev` profile"), Activity::Ends);
        for other in [
            "error[E0425]: cannot find value",
            "    Blocking waiting for file lock on build directory",
            "   |     Compiling x",
            "      Compiling too far to the right",
            "",
        ] {
            assert_eq!(activity(other), Activity::Other, "{other}");
        }
    }

    #[test]
    fn the_line_says_what_how_far_and_how_long() {
        let mut progress = Progress::new(3);
        progress.built("a", false);
        progress.built("b", true);
        progress.built("b", true);
        progress.current = "c".to_owned();
        assert_eq!(
            progress.text(),
            "building: 2 of 3 crates, 2 programs and tests, 0 s, now c"
        );
        assert!(
            Progress::new(0)
                .text()
                .starts_with("building: 0 crates, 0 s")
        );
    }
}
