//! The table, and its place in the documentation.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use halite_integration_tests::{machine, write_table};

use crate::measure::{Number, Unit};

/// The line of the document behind which the table stands.
const BEGIN: &str = "<!-- begin: cargo xtask bench --write -->";

/// The numbers of both sides with their ratios, as Markdown.
pub(crate) fn render(ours: &[Number], theirs: &[Number]) -> String {
    let mut text =
        String::from("| | Halite | Salt 3008.5 | ratio | aim |\n|---|---:|---:|---:|---|\n");
    for our in ours {
        // Some numbers are of ours alone.
        let their = theirs.iter().find(|their| their.name == our.name);
        // Writing to a String cannot fail.
        writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            our.name,
            shown(our),
            their.map_or_else(String::new, shown),
            their.map_or_else(String::new, |their| compared(our, their)),
            our.aim
        )
        .ok();
    }
    text
}

/// How many times better ours is, or worse.
fn compared(our: &Number, their: &Number) -> String {
    let (ratio, better, worse) = match our.unit {
        Unit::PerSecond => (our.value / their.value, "more", "fewer"),
        Unit::Milliseconds | Unit::Seconds => (their.value / our.value, "faster", "slower"),
        Unit::Mebibytes | Unit::Processes | Unit::Times => {
            (their.value / our.value, "less", "more")
        }
    };
    // Nothing is no measure.
    if !ratio.is_normal() {
        return String::new();
    }
    if ratio >= 1.0 {
        format!("{ratio:.1}x {better}")
    } else {
        format!("{:.1}x {worse}", 1.0 / ratio)
    }
}

fn shown(number: &Number) -> String {
    let value = number.value;
    let digits = usize::from(value < 100.0 && number.unit != Unit::Processes);
    let unit = match number.unit {
        Unit::Milliseconds => " ms",
        Unit::Seconds => " s",
        Unit::Mebibytes => " MiB",
        Unit::Processes => "",
        Unit::Times => "x",
        Unit::PerSecond => "/s",
    };
    format!("{value:.digits$}{unit}")
}

/// Replaces the table in a document, and says on which machine it was made.
pub(crate) fn write_into(file: &Path, table: &str) -> Result<()> {
    write_table(file, BEGIN, &format!("{}\n\n{table}", machine()))
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::measure::{Number, Unit};

    #[test]
    fn ratios_say_which_side_is_better() {
        let number = |name: &str, value, unit| Number {
            name: name.to_owned(),
            value,
            unit,
            aim: "a",
        };
        let ours = [
            number("ping", 10.0, Unit::Milliseconds),
            number("returns", 400.0, Unit::PerSecond),
        ];
        let theirs = [
            number("ping", 550.0, Unit::Milliseconds),
            number("returns", 100.0, Unit::PerSecond),
        ];
        let table = render(&ours, &theirs);
        assert!(
            table.contains("| ping | 10.0 ms | 550 ms | 55.0x faster | a |"),
            "{table}"
        );
        assert!(
            table.contains("| returns | 400/s | 100/s | 4.0x more | a |"),
            "{table}"
        );
    }
}
