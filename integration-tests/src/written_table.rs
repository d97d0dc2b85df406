//! Tables of measurements in the documentation.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The line behind each table.
const END: &str = "<!-- end -->";

/// Replaces what stands in a document between this line and the next [end](END).
///
/// # Errors
/// When the document cannot be read or written, or has no such lines.
pub fn write_table(file: &Path, begin: &str, table: &str) -> Result<()> {
    let text =
        fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let new = replaced(&text, begin, table)
        .with_context(|| format!("no `{begin}` with `{END}` behind it in {}", file.display()))?;
    fs::write(file, new).with_context(|| format!("could not write {}", file.display()))
}

/// Adds an empty place for a table before this line.
///
/// # Errors
/// When the document cannot be read or written, or has no such line.
pub fn add_table(file: &Path, begin: &str, before: &str) -> Result<()> {
    let text =
        fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let new = added(&text, begin, before)
        .with_context(|| format!("no `{before}` in {}", file.display()))?;
    fs::write(file, new).with_context(|| format!("could not write {}", file.display()))
}

fn added(text: &str, begin: &str, before: &str) -> Option<String> {
    let (head, tail) = text.split_once(before)?;
    Some(format!("{head}{begin}\n{END}\n\n{before}{tail}"))
}

/// Whether a document has a place for the table behind this line.
///
/// # Errors
/// When the document cannot be read.
pub fn has_table(file: &Path, begin: &str) -> Result<bool> {
    let text =
        fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    Ok(replaced(&text, begin, "").is_some())
}

fn replaced(text: &str, begin: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{begin}\n{table}{END}{after}"))
}

/// A sentence that says of what machine a measurement is.
pub fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unnamed processor", |(_, model)| model);
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = read("/proc/meminfo")
        .lines()
        .find_map(|line| {
            line.strip_prefix("MemTotal:")?
                .trim()
                .strip_suffix(" kB")?
                .parse::<u64>()
                .ok()
        })
        .unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = kernel.split('.').take(2).collect();
    format!(
        "Measured with version {} on {count} cores of {model}, {} GiB of memory, Linux {}.",
        env!("CARGO_PKG_VERSION"),
        memory.div_ceil(1024 * 1024),
        kernel.join(".")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_behind_the_line_is_replaced() {
        let page = format!("a\n<!-- 1 -->\nold\n{END}\nb\n<!-- 3 -->\nkept\n{END}\n");
        let new = replaced(&page, "<!-- 1 -->", "new\n").unwrap_or_default();
        assert_eq!(new, page.replace("old", "new"));
        assert_eq!(replaced(&page, "<!-- 2 -->", "new"), None);
    }

    #[test]
    fn a_table_that_was_added_can_be_written() {
        let page = "a\n\n<!-- more -->\nb\n";
        let added = added(page, "<!-- 1 -->", "<!-- more -->").unwrap_or_default();
        let new = replaced(&added, "<!-- 1 -->", "new\n").unwrap_or_default();
        assert_eq!(
            new,
            format!("a\n\n<!-- 1 -->\nnew\n{END}\n\n<!-- more -->\nb\n")
        );
        assert_eq!(super::added(page, "<!-- 1 -->", "<!-- none -->"), None);
    }
}
