//! The differences between an existing file and its wanted content.

use std::fs;
use std::path::Path;

use halite_call::CallError;

use super::diff;
use super::lines;
use super::open;
use super::text;
use super::write::Body;
use crate::limits::DIFF_BYTES_MAX;
use halite_call::errno;

/// In what ways two texts may differ and still count as the same to those who
/// watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ignore {
    /// The order of lines.
    pub(crate) ordering: bool,
    /// White space around lines, and empty lines.
    pub(crate) whitespace: bool,
    /// What is behind one of these.
    pub(crate) comments: Vec<String>,
}

impl Ignore {
    /// Whether anything is ignored at all.
    pub(crate) fn is_set(&self) -> bool {
        self.ordering || self.whitespace || !self.comments.is_empty()
    }

    fn same(&self, old: &str, new: &str) -> bool {
        self.essence(old) == self.essence(new)
    }

    /// What counts of a text: its lines in no order, without remarks, without
    /// white space around them.
    fn essence<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut all: Vec<&str> = lines::kept(text)
            .into_iter()
            .filter_map(|line| self.essence_of(line))
            .collect();
        all.sort_unstable();
        all
    }

    fn essence_of<'t>(&self, line: &'t str) -> Option<&'t str> {
        let mut left = line;
        for mark in &self.comments {
            left = left.split(mark.as_str()).next().unwrap_or(left);
        }
        if self.whitespace {
            left = left.trim();
        }
        (!left.is_empty()).then_some(left)
    }
}

/// A difference in words, and whether it is one that is ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Difference {
    /// The unified diff, or a sentence about binary files.
    pub(crate) text: String,
    /// Nobody needs to react.
    pub(crate) ignored: bool,
}

/// Compares a file with the content it is to have; nothing for no file.
///
/// # Errors
/// When one of them cannot be read.
pub(crate) fn difference(
    old: Option<&Path>,
    new: &Body,
    names: (&str, &str),
    ignore: &Ignore,
) -> Result<Difference, CallError> {
    let old_bytes = match old {
        Some(path) => match read(path)? {
            Some(bytes) => bytes,
            None => return Ok(too_large()),
        },
        None => Vec::new(),
    };
    let new_bytes = match new {
        Body::Bytes(bytes) => bytes.clone(),
        Body::File(path) => match read(path)? {
            Some(bytes) => bytes,
            None => return Ok(too_large()),
        },
    };
    if old_bytes == new_bytes {
        return Ok(Difference::default());
    }
    let sentence = match (text::is_text(&old_bytes), text::is_text(&new_bytes)) {
        (true, true) => None,
        (true, false) => Some("Replace text file with binary file"),
        (false, true) => Some("Replace binary file with text file"),
        (false, false) => Some("Replace binary file"),
    };
    if let Some(sentence) = sentence {
        return Ok(Difference {
            text: sentence.to_owned(),
            ignored: false,
        });
    }
    let (old, new) = (text::decode(&old_bytes), text::decode(&new_bytes));
    Ok(Difference {
        text: diff::unified(&lines::kept(&old), &lines::kept(&new), names.0, names.1),
        ignored: ignore.is_set() && ignore.same(&old, &new),
    })
}

fn too_large() -> Difference {
    Difference {
        text: "Replace large file".to_owned(),
        ignored: false,
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, CallError> {
    let wrong = |error: std::io::Error| {
        CallError::command(format!(
            "Failed to read {}: {}",
            path.display(),
            errno(&error).1
        ))
    };
    if fs::metadata(path).map_err(wrong)?.len() > DIFF_BYTES_MAX {
        return Ok(None);
    }
    open::read(path).map_err(wrong).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_still_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "a\nb\n").unwrap();
        let new = Body::Bytes(b"b\na\n".to_vec());
        let ignore = Ignore {
            ordering: true,
            ..Ignore::default()
        };
        let found = difference(Some(&path), &new, ("", ""), &ignore).unwrap();
        assert!(found.ignored && found.text.contains("+b\n"));
        let found = difference(Some(&path), &new, ("", ""), &Ignore::default()).unwrap();
        assert!(!found.ignored);
    }
}
