//! The figures of a run of the fuzzer, and the page that keeps the last of each
//! target.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

/// The line behind which the table of the page stands.
const HEAD: &str = "| target | executions | seconds | covered | found |";
const RULE: &str = "|---|---:|---:|---:|---:|";

/// What came of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    executions: u64,
    seconds: u64,
    /// Edges of the program that some input has reached.
    covered: u64,
    /// Inputs that the target did not survive.
    found: u64,
}

impl Figures {
    /// Reads what libFuzzer has written: `stat::NAME: VALUE` at its end, the
    /// coverage in each line of progress, and a line for each input that it
    /// has kept because the target did not survive it.
    pub(super) fn read(log: &str, took: Duration) -> Self {
        let mut figures = Self {
            seconds: took.as_secs(),
            ..Self::default()
        };
        for line in log.lines() {
            if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
                figures.executions = count.trim().parse().unwrap_or_default();
            }
            // A run that was ended by an input does not always say its end.
            if let Some((count, _)) = line
                .strip_prefix('#')
                .and_then(|line| line.split_once('\t'))
            {
                let count = count.parse().unwrap_or_default();
                figures.executions = figures.executions.max(count);
            }
            let mut words = line.split_whitespace();
            if words.any(|word| word == "cov:")
                && let Some(Ok(covered)) = words.next().map(str::parse)
            {
                figures.covered = covered;
            }
            figures.found += u64::from(line.contains("Test unit written to"));
        }
        figures
    }

    /// For people who watch.
    pub(super) fn line(&self) -> String {
        let per_second = self.executions / self.seconds.max(1);
        let Self {
            executions,
            covered,
            ..
        } = self;
        format!("{executions:>12} executions {per_second:>8}/s {covered:>6} covered")
    }
}

/// The page with the table of figures.
#[derive(Debug)]
pub(super) struct Page {
    path: PathBuf,
}

impl Page {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Replaces the row of a target; what is around the table stays.
    pub(super) fn record(&self, target: &str, figures: &Figures) -> Result<()> {
        let shown = self.path.display();
        let text = fs::read_to_string(&self.path).with_context(|| shown.to_string())?;
        let new =
            with_row(&text, target, figures).with_context(|| format!("{shown} has no table"))?;
        fs::write(&self.path, new).with_context(|| shown.to_string())
    }
}

/// The text of the page with the row of a target, in the order of their names.
fn with_row(text: &str, target: &str, figures: &Figures) -> Option<String> {
    let head = format!("{HEAD}\n{RULE}\n");
    let (before, rest) = text.split_once(&head)?;
    let is_row = |line: &&str| line.starts_with('|');
    let mut rows: BTreeMap<String, String> = rest
        .lines()
        .take_while(is_row)
        .filter_map(|row| {
            let name = row.split('`').nth(1)?;
            Some((name.to_owned(), row.to_owned()))
        })
        .collect();
    let after: Vec<&str> = rest.lines().skip_while(is_row).collect();
    let Figures {
        executions,
        seconds,
        covered,
        found,
    } = figures;
    let row = format!(
        "| `{target}` | {} | {} | {} | {} |",
        grouped(*executions),
        grouped(*seconds),
        grouped(*covered),
        grouped(*found),
    );
    rows.insert(target.to_owned(), row);
    let mut new = format!("{before}{head}");
    for line in rows.values().map(String::as_str).chain(after) {
        new.push_str(line);
        new.push('\n');
    }
    Some(new)
}

/// A number with commas between the thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Figures, HEAD, RULE, grouped, with_row};

    #[test]
    fn the_end_of_a_run_is_read() {
        let log = "#8\tNEW    cov: 12 ft: 13 corp: 2/3b\n\
            #9\tDONE   cov: 14 ft: 15 corp: 3/4b\n\
            stat::number_of_executed_units: 1000000\n\
            stat::average_exec_per_sec:     90909\n";
        let figures = Figures::read(log, Duration::from_millis(11_900));
        let expected = Figures {
            executions: 1_000_000,
            seconds: 11,
            covered: 14,
            found: 0,
        };
        assert_eq!(figures, expected);
    }

    #[test]
    fn an_input_that_ends_a_run_is_counted() {
        let log = "#8\tNEW    cov: 12 ft: 13 corp: 2/3b\n\
            thread '<unnamed>' panicked at x.rs:1:2:\n\
            artifact_prefix='found/yaml-'; Test unit written to found/yaml-crash-12\n";
        let figures = Figures::read(log, Duration::ZERO);
        assert_eq!((figures.executions, figures.found), (8, 1));
    }

    #[test]
    fn a_row_is_replaced_and_the_rest_of_the_page_stays() {
        let page = format!("# Title\n\n{HEAD}\n{RULE}\n| `yaml` | 1 | 2 | 3 | 4 |\n\nafter\n");
        let figures = Figures {
            executions: 10_000_000,
            seconds: 61,
            covered: 1_234,
            found: 0,
        };
        let page = with_row(&page, "json", &figures).unwrap();
        let page = with_row(&page, "yaml", &figures).unwrap();
        let rows =
            ["json", "yaml"].map(|name| format!("| `{name}` | 10,000,000 | 61 | 1,234 | 0 |\n"));
        let rows = rows.concat();
        assert_eq!(page, format!("# Title\n\n{HEAD}\n{RULE}\n{rows}\nafter\n"));
        assert_eq!(with_row("no table", "yaml", &figures), None);
    }

    #[test]
    fn thousands_are_grouped() {
        let texts = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "12,345,678"]);
    }
}
