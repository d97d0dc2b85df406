//! The tables in docs/scale.md, one for each way in which masters belong together.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Replaces the table with this title, and says on which machine it was made.
pub(super) fn write(file: &Path, title: &str, table: &str) -> Result<()> {
    let text =
        fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let new = replaced(&text, title, &format!("{}\n\n{table}", machine()))
        .with_context(|| format!("{} has no `{}`", file.display(), begin(title)))?;
    fs::write(file, new).with_context(|| format!("could not write {}", file.display()))
}

/// The line before a table. One with the text `end` follows it.
fn begin(title: &str) -> String {
    format!("<!-- begin: cargo xtask scale --write, {title} -->")
}

const END: &str = "<!-- end -->";

fn replaced(text: &str, title: &str, new: &str) -> Option<String> {
    let begin = begin(title);
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{begin}\n{new}{END}{after}"))
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "Measured with version {} on {cores} cores with {} GiB of memory, which the emulator \
         shares; the load average at the end was {load}.",
        env!("CARGO_PKG_VERSION"),
        kib.unwrap_or_default().div_ceil(1024 * 1024)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_with_the_title_is_replaced() {
        let page = format!(
            "a\n{}\nold\n{END}\nb\n{}\nkept\n{END}\n",
            begin("1 master"),
            begin("3 masters")
        );
        let new = replaced(&page, "1 master", "new\n").unwrap_or_default();
        assert_eq!(new, page.replace("old", "new"));
        assert_eq!(replaced(&page, "2 masters", "new"), None);
    }
}
