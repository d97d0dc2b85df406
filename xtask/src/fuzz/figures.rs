//! The figures of a run of the fuzzer, and the page that adds up those of each
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

    /// These and those of a later run together.
    fn and(&self, later: &Self) -> Self {
        Self {
            executions: self.executions + later.executions,
            seconds: self.seconds + later.seconds,
            // A change of the program moves this in both directions.
            covered: later.covered,
            found: self.found + later.found,
        }
    }

    /// Reads a row of the table; dashes count as nothing.
    fn from_row(row: &str) -> Self {
        let mut cells = row.split('|').skip(2).map(|cell| {
            let digits = cell.trim().replace(',', "");
            digits.parse().unwrap_or_default()
        });
        let mut next = || cells.next().unwrap_or_default();
        Self {
            executions: next(),
            seconds: next(),
            covered: next(),
            found: next(),
        }
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

    /// Adds a run to the row of a target; what is around the table stays.
    pub(super) fn record(&self, target: &str, figures: &Figures) -> Result<()> {
        let text = self.read()?;
        let new = with_run(&text, target, figures).with_context(|| self.no_table())?;
        fs::write(&self.path, new).with_context(|| self.path.display().to_string())
    }

    /// The executions of a target that the page counts already.
    pub(super) fn executions(&self, target: &str) -> Result<u64> {
        let text = self.read()?;
        let (_, rows, _) = parts(&text).with_context(|| self.no_table())?;
        Ok(rows.get(target).map_or(0, |figures| figures.executions))
    }

    fn read(&self) -> Result<String> {
        fs::read_to_string(&self.path).with_context(|| self.path.display().to_string())
    }

    fn no_table(&self) -> String {
        format!("{} has no table", self.path.display())
    }
}

/// What stands before the rows of the table, the rows by their targets, and the
/// lines behind them.
fn parts(text: &str) -> Option<(String, BTreeMap<String, Figures>, Vec<&str>)> {
    let head = format!("{HEAD}\n{RULE}\n");
    let (before, rest) = text.split_once(&head)?;
    let is_row = |line: &&str| line.starts_with('|');
    let rows = rest.lines().take_while(is_row).filter_map(|row| {
        let name = row.split('`').nth(1)?;
        Some((name.to_owned(), Figures::from_row(row)))
    });
    let behind = rest.lines().skip_while(is_row).collect();
    Some((format!("{before}{head}"), rows.collect(), behind))
}

/// The text of the page with a run added to the row of a target, in the order of
/// their names.
fn with_run(text: &str, target: &str, run: &Figures) -> Option<String> {
    let (mut new, mut rows, behind) = parts(text)?;
    let row = rows.entry(target.to_owned()).or_default();
    *row = row.and(run);
    for (target, figures) in rows {
        let cells = [
            figures.executions,
            figures.seconds,
            figures.covered,
            figures.found,
        ];
        new.push_str(&format!(
            "| `{target}` | {} |\n",
            cells.map(grouped).join(" | ")
        ));
    }
    for line in behind {
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

    use super::{Figures, HEAD, Page, RULE, grouped, with_run};

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
    fn a_run_is_added_to_its_row_and_the_rest_of_the_page_stays() {
        let page = format!(
            "# Title\n\n{HEAD}\n{RULE}\n\
             | `json` | - | - | - | - |\n| `yaml` | 9,000,000 | 2 | 3 | 4 |\n\nafter\n"
        );
        let run = Figures {
            executions: 1_000_000,
            seconds: 61,
            covered: 1_234,
            found: 0,
        };
        let page = with_run(&page, "json", &run).unwrap();
        let page = with_run(&page, "yaml", &run).unwrap();
        let rows = "| `json` | 1,000,000 | 61 | 1,234 | 0 |\n\
                    | `yaml` | 10,000,000 | 63 | 1,234 | 4 |\n";
        assert_eq!(page, format!("# Title\n\n{HEAD}\n{RULE}\n{rows}\nafter\n"));
        assert_eq!(with_run("no table", "yaml", &run), None);
    }

    #[test]
    fn the_page_says_how_many_executions_it_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fuzzing.md");
        let row = "| `yaml` | 9,000,001 | 2 | 3 | 4 |\n";
        std::fs::write(&path, format!("{HEAD}\n{RULE}\n{row}")).unwrap();
        let page = Page::new(path);
        let counted = ["yaml", "json"].map(|target| page.executions(target).unwrap());
        assert_eq!(counted, [9_000_001, 0]);
    }

    #[test]
    fn thousands_are_grouped() {
        let texts = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "12,345,678"]);
    }
}
