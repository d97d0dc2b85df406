//! Rust source as the checks of walls read it.
//!
//! Invariant: what is cut out leaves its line ends behind, so a line has the
//! same number before and after.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The Rust files below a directory, in order, without those of tests.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(dir, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("could not read {}", dir.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// The program in a text: without comments, what stands in strings, and what
/// is for tests alone.
pub(super) fn program(text: &str) -> String {
    without_tests(&without_words(text))
}

/// Replaces comments and what stands in strings and characters by spaces.
fn without_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            'r' | 'b' if !ends_in_word(&out) => raw_string(rest).unwrap_or(0),
            '\'' => character(rest).unwrap_or(0),
            _ => 0,
        };
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            blank(&rest[..length], &mut out);
            rest = &rest[length..];
        }
    }
    out
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(|char: char| char.is_alphanumeric() || char == '_')
}

fn blank(text: &str, out: &mut String) {
    out.extend(
        text.chars()
            .map(|char| if char == '\n' { '\n' } else { ' ' }),
    );
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of `r"…"`, `r#"…"#`, `br"…"`, if that is what begins here.
fn raw_string(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('b').unwrap_or(text).strip_prefix('r')?;
    let marks = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let begin = text.len() - body.len();
    Some(
        body.find(&end)
            .map_or(text.len(), |at| begin + at + end.len()),
    )
}

/// The length of a character such as `'"'`, if it is none of a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        return text[3..].find('\'').map(|at| at + 4);
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 1)
}

/// Replaces every item under `#[cfg(test)]` by spaces.
fn without_tests(program: &str) -> String {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(program.len());
    let mut rest = program;
    while let Some(at) = rest.find(ATTRIBUTE) {
        out.push_str(&rest[..at]);
        let item = &rest[at..];
        let length = item_length(item);
        blank(&item[..length], &mut out);
        rest = &item[length..];
    }
    out + rest
}

/// How long an item is: to its semicolon, or to the end of its braces.
fn item_length(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, char) in item.char_indices() {
        match char {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    item.len()
}

/// The number of the line that holds this byte, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::{line_of, program};

    #[test]
    fn only_the_program_is_left() {
        let text = "use a::b; // crate::c\n/* crate::d /* crate::e */ */\nlet s = \"crate::f \\\" crate::g\";\nlet r = br#\"crate::h \" \"#;\nlet c = ['\"', '\\'', '\\u{1f}'];\nfn l<'a>(x: &'a str) {}\n#[cfg(test)]\nmod tests {\n    use crate::i;\n}\nuse crate::j;\n#[cfg(test)]\nmod more;\nuse crate::k;\n";
        let left = program(text);
        for gone in ["c", "d", "e", "f", "g", "h", "i"] {
            assert!(!left.contains(&format!("crate::{gone}")), "{gone}: {left}");
        }
        for kept in ["a::b;", "fn l<'a>(x: &'a str) {}", "crate::j", "crate::k"] {
            assert!(left.contains(kept), "{kept}: {left}");
        }
        assert!(!left.contains("mod more"));
        let at = left.find("crate::k").unwrap();
        assert_eq!(line_of(&left, at), 14);
        assert_eq!(left.matches('\n').count(), text.matches('\n').count());
    }
}
