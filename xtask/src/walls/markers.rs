//! Markers of unfinished merges in documents and tables, which no compiler reads.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::build::root;

/// Directories that hold nothing of ours, or what machines have written.
const LEFT_OUT: [&str; 4] = [".git", "target", "corpus", "node_modules"];

/// What a line of a marker begins with.
const MARKERS: [&str; 3] = ["<<<<<<< ", ">>>>>>> ", "||||||| "];

/// A complaint for each line.
pub(super) fn check() -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    look(root(), &mut complaints)?;
    Ok(complaints)
}

fn look(dir: &Path, complaints: &mut Vec<String>) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("could not read {}", dir.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            look(&path, complaints)?;
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(&path)
        {
            let shown = path.strip_prefix(root()).unwrap_or(&path).display();
            for line in marked(&text) {
                complaints.push(format!("{shown}:{line}: a merge that is not finished"));
            }
        }
    }
    Ok(())
}

/// The numbers of the lines with a marker.
fn marked(text: &str) -> impl Iterator<Item = usize> {
    let lines = text.lines().enumerate();
    let marked = lines.filter(|(_, line)| MARKERS.iter().any(|marker| line.starts_with(marker)));
    marked.map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn a_marker_is_found_at_the_start_of_a_line() {
        let ours = format!("a\n{} HEAD\nb\n", "<".repeat(7));
        assert_eq!(marked(&ours).collect::<Vec<_>>(), [2]);
        let quoted = format!("a {} HEAD\n=======\n", "<".repeat(7));
        assert_eq!(marked(&quoted).count(), 0);
    }
}
