//! The configurations in docs/cluster.md, which the tests take from there.

use std::fs;

use crate::kind::package_dir;
use anyhow::{Result, ensure};

/// The lines that stand below a comment of the page: up to the end of what is indented,
/// or the next comment.
///
/// # Errors
/// When the page has no such lines.
pub fn lines_after(comment: &str) -> Result<Vec<String>> {
    let page = fs::read_to_string(package_dir().join("../docs/cluster.md"))?;
    let is_of_block = |line: &&str| {
        line.is_empty() || (line.starts_with("    ") && !line.trim_start().starts_with('#'))
    };
    let lines: Vec<String> = page
        .lines()
        .skip_while(|line| line.trim() != comment)
        .skip(1)
        .take_while(is_of_block)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    ensure!(
        !lines.is_empty(),
        "docs/cluster.md has nothing below {comment:?}"
    );
    Ok(lines)
}
