//! The tables of docs/scale.md, read again.

use super::names::{Row, heading};

/// The line before the table of masters with this title.
pub(super) fn begin(title: &str) -> String {
    format!("<!-- begin: cargo xtask scale --write, {title} -->")
}

const END: &str = "<!-- end -->";

/// What was measured with one kind of masters.
#[derive(Debug)]
pub(super) struct Table {
    /// Minions of each column.
    counts: Vec<f64>,
    rows: Vec<(String, Vec<f64>)>,
}

impl Table {
    /// The table with this title, if the document has one.
    pub(super) fn find(document: &str, title: &str) -> Option<Self> {
        let (_, rest) = document.split_once(&begin(title))?;
        let (text, _) = rest.split_once(END)?;
        let mut rows = text.lines().filter_map(row);
        let (_, counts) = rows.find(|(name, _)| name == "minions")?;
        let rows = rows.filter(|(_, values)| values.len() == counts.len());
        Some(Self {
            rows: rows.collect(),
            counts,
        })
    }

    /// The most minions that were measured.
    pub(super) fn most_minions(&self) -> f64 {
        self.counts.iter().copied().fold(0.0, f64::max)
    }

    /// Whether there are runs with different numbers of minions.
    pub(super) fn shows_growth(&self) -> bool {
        self.counts.len() > 1
    }

    /// The figure of the most minions.
    pub(super) fn last(&self, row: Row) -> Option<f64> {
        self.points(row)?.last().map(|(_, value)| *value)
    }

    /// A figure with other numbers of minions: as it grew between the two largest
    /// numbers that were measured, or in proportion if there is one alone.
    pub(super) fn at(&self, row: Row, minions: f64) -> Option<f64> {
        let points = self.points(row)?;
        let (count, value) = *points.last()?;
        let before = points.len().checked_sub(2).and_then(|at| points.get(at));
        let slope = match before {
            Some((fewer, less)) => ((value - less) / (count - fewer)).max(0.0),
            None => value / count,
        };
        Some(value + slope * (minions - count))
    }

    fn points(&self, row: Row) -> Option<Vec<(f64, f64)>> {
        let name = heading(row);
        let (_, values) = self.rows.iter().find(|(other, _)| *other == name)?;
        let mut points: Vec<_> = self.counts.iter().copied().zip(values.clone()).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Some(points)
    }
}

/// A row of a table: its name and its numbers.
fn row(line: &str) -> Option<(String, Vec<f64>)> {
    let (name, values) = line.strip_prefix("| ")?.split_once(" |")?;
    let values = values.split('|').map(str::trim);
    let values = values.filter(|value| !value.is_empty()).map(str::parse);
    Some((name.to_owned(), values.collect::<Result<_, _>>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::names::{IDLE, MEMORY, PING};
    use super::*;

    const PAGE: &str = "text\n<!-- begin: cargo xtask scale --write, 1 master -->\nMeasured.\n\n\
        | minions | 1000 | 3000 |\n|---|--:|--:|\n| salt '*' test.ping, s | 0.20 | 0.50 |\n\
        | idle: own memory of a master, MiB | 9.00 | 9.00 |\n<!-- end -->\n\
        <!-- begin: cargo xtask scale --write, 3 masters -->\n| minions | 1000 |\n|---|--:|\n\
        | salt '*' test.ping, s | 0.40 |\n<!-- end -->\n";

    #[test]
    fn a_figure_grows_as_it_did_at_last() {
        let table = Table::find(PAGE, "1 master").unwrap();
        let ping = |minions| {
            table
                .at(PING, minions)
                .map(|ping| (ping * 1e6).round() / 1e6)
        };
        assert_eq!(
            [1000.0, 3000.0, 5000.0].map(ping),
            [Some(0.2), Some(0.5), Some(0.8)]
        );
        assert_eq!(table.at(MEMORY, 50_000.0), Some(9.0));
        assert_eq!(
            (table.last(PING), table.most_minions()),
            (Some(0.5), 3000.0)
        );
        assert_eq!(table.at(IDLE, 1.0), None, "there is no such row");
    }

    #[test]
    fn a_single_figure_grows_in_proportion() {
        let table = Table::find(PAGE, "3 masters").unwrap();
        assert_eq!(table.at(PING, 10_000.0), Some(4.0));
        assert!(Table::find(PAGE, "5 masters").is_none());
        let growth = |title| Table::find(PAGE, title).map(|table| table.shows_growth());
        assert_eq!(
            ["1 master", "3 masters"].map(growth),
            [Some(true), Some(false)]
        );
    }
}
