//! `--progress`: a line on the terminal that says how far a job is. In a pipe
//! there is none.

use std::collections::BTreeSet;

use super::returns::Shown;
use crate::Screen;

/// Names of minions that are still awaited are shown up to so many.
const NAMES_MAX: usize = 3;

/// How far a job is.
pub(super) struct Progress {
    on: bool,
    total: usize,
    answered: usize,
    failed: usize,
    silent: usize,
    awaited: BTreeSet<String>,
    is_shown: bool,
}

impl Progress {
    /// Nobody of `total` minions has answered; nothing is ever shown unless it
    /// is `on`.
    pub(super) fn new(on: bool, total: usize) -> Self {
        Self {
            on,
            total,
            answered: 0,
            failed: 0,
            silent: 0,
            awaited: BTreeSet::new(),
            is_shown: false,
        }
    }

    /// Who is awaited, by name.
    pub(super) fn awaiting<'a>(&mut self, ids: impl IntoIterator<Item = &'a String>) {
        self.awaited = ids.into_iter().cloned().collect();
    }

    /// A minion has answered, or will not.
    pub(super) fn ended(&mut self, shown: &Shown) {
        self.awaited.remove(&shown.id);
        if shown.is_missing {
            self.silent += 1;
        } else {
            self.answered += 1;
            self.failed += usize::from(shown.retcode != 0);
        }
    }

    /// Shows the line.
    pub(super) fn show(&mut self, screen: &mut Screen<'_>) {
        if self.on && screen.has_status_line() {
            screen.status(&self.line());
            self.is_shown = true;
        }
    }

    /// Takes the line away, before anything else is shown.
    pub(super) fn clear(&mut self, screen: &mut Screen<'_>) {
        if std::mem::take(&mut self.is_shown) {
            screen.status("");
        }
    }

    fn line(&self) -> String {
        let ended = self.answered + self.silent;
        let mut line = format!(
            "{} of {} answered, {} running",
            self.answered,
            self.total,
            self.total.saturating_sub(ended)
        );
        if self.silent > 0 {
            line.push_str(&format!(", {} silent", self.silent));
        }
        if self.failed > 0 {
            line.push_str(&format!(", {} failed", self.failed));
        }
        if (1..=NAMES_MAX).contains(&self.awaited.len()) {
            let names: Vec<&str> = self.awaited.iter().map(String::as_str).collect();
            line.push_str(&format!(" ({})", names.join(", ")));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::Value;

    use super::*;

    fn shown(id: &str, retcode: i64, is_missing: bool) -> Shown {
        Shown {
            id: id.to_owned(),
            value: Value::Nil,
            out: None,
            retcode,
            raw_retcode: retcode.into(),
            is_missing,
        }
    }

    #[test]
    fn the_line_counts_and_names_the_last_ones() {
        let ids: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let mut progress = Progress::new(true, 5);
        progress.awaiting(&ids);
        assert_eq!(progress.line(), "0 of 5 answered, 5 running");
        progress.ended(&shown("a", 0, false));
        progress.ended(&shown("b", 2, false));
        progress.ended(&shown("c", 1, true));
        assert_eq!(
            progress.line(),
            "2 of 5 answered, 2 running, 1 silent, 1 failed (d, e)"
        );
    }

    #[test]
    fn in_a_pipe_nothing_is_shown() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::to_writers(&mut out, &mut err);
        let mut progress = Progress::new(true, 5);
        progress.show(&mut screen);
        progress.clear(&mut screen);
        drop(screen);
        assert!(out.is_empty() && err.is_empty());
    }
}
