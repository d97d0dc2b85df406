//! The block that `--summary` shows after the returns.

use super::closing::NAMES_MAX;
use super::returns::Shown;

const LINE: &str = "-------------------------------------------";

/// Counts returns.
#[derive(Default)]
pub(super) struct Summary {
    returned: usize,
    missing: usize,
    failed: Vec<String>,
    not_connected: Vec<String>,
    not_responding: Vec<String>,
}

impl Summary {
    pub(super) fn add(&mut self, shown: &Shown) {
        let text = shown.value.as_str().unwrap_or_default();
        if shown.is_missing || text.starts_with("Minion did not return") {
            self.missing += 1;
            if text.contains("Not connected") {
                self.not_connected.push(shown.id.clone());
            } else if text.contains("No response") {
                self.not_responding.push(shown.id.clone());
            }
        } else {
            self.returned += 1;
            if shown.retcode != 0 {
                self.failed.push(shown.id.clone());
            }
        }
    }

    /// The block; `verbose` names the minions: all of them as Salt does, but on a terminal
    /// only the first ones, since a large fleet would fill it.
    pub(super) fn text(&self, verbose: bool, on_terminal: bool) -> String {
        let names_max = if on_terminal { NAMES_MAX } else { usize::MAX };
        let mut lines = vec![
            "\n".to_owned(),
            LINE.to_owned(),
            "Summary".to_owned(),
            LINE.to_owned(),
            format!("# of minions targeted: {}", self.returned + self.missing),
            format!("# of minions returned: {}", self.returned),
            format!("# of minions that did not return: {}", self.missing),
            format!("# of minions with errors: {}", self.failed.len()),
        ];
        if verbose {
            for (label, ids) in [
                ("Minions not connected", &self.not_connected),
                ("Minions not responding", &self.not_responding),
                ("Minions with failures", &self.failed),
            ] {
                if !ids.is_empty() {
                    lines.push(format!("{label}: {}", names(ids, names_max)));
                }
            }
        }
        lines.push(LINE.to_owned());
        lines.join("\n") + "\n"
    }
}

fn names(ids: &[String], max: usize) -> String {
    let (shown, rest) = ids.split_at(max.min(ids.len()));
    match rest.len() {
        0 => shown.join(" "),
        more => format!("{} and {more} more", shown.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::Value;

    use super::*;

    fn shown(id: &str, value: &str, retcode: i64, is_missing: bool) -> Shown {
        Shown {
            id: id.to_owned(),
            value: Value::from(value),
            out: None,
            retcode,
            raw_retcode: retcode.into(),
            notes: Vec::new(),
            is_missing,
        }
    }

    #[test]
    fn the_block_is_salts() {
        let mut summary = Summary::default();
        summary.add(&shown("web1", "x", 0, false));
        summary.add(&shown(
            "web2",
            "Minion did not return. [No response]\nThe",
            1,
            true,
        ));
        // samples/salt-missing-minion-summary-v.txt, behind the returns
        let expect = "\n\n-------------------------------------------\nSummary\n\
            -------------------------------------------\n# of minions targeted: 2\n\
            # of minions returned: 1\n# of minions that did not return: 1\n\
            # of minions with errors: 0\nMinions not responding: web2\n\
            -------------------------------------------\n";
        assert_eq!(summary.text(true, false), expect);
        assert_eq!(summary.text(true, true), expect);
        assert!(!summary.text(false, false).contains("responding"));
    }

    #[test]
    fn a_terminal_gets_the_first_names_alone() {
        let mut summary = Summary::default();
        for number in 0..12 {
            summary.add(&shown(&format!("x{number}"), "", 1, false));
        }
        let all = "\nMinions with failures: x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11\n";
        assert!(summary.text(true, false).contains(all));
        let first = "\nMinions with failures: x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 and 2 more\n";
        assert!(summary.text(true, true).contains(first));
    }
}
