//! Words of a command line without a shell: POSIX quoting, nothing expanded.

use crate::error::CallError;

/// Splits `line` into words.
///
/// # Errors
/// Python's `ValueError` when a quote is open or a backslash is last.
pub fn split(line: &str) -> Result<Vec<String>, CallError> {
    let open = |what: &str| CallError::exception("ValueError", what);
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\\' => {
                let next = chars.next().ok_or_else(|| open("No escaped character"))?;
                word.get_or_insert_default().push(next);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or_else(|| open("No closing quotation"))? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or_else(|| open("No closing quotation"))? {
                        '"' => break,
                        '\\' => match chars.next().ok_or_else(|| open("No closing quotation"))? {
                            quoted @ ('"' | '\\') => word.push(quoted),
                            other => word.extend(['\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// One word, quoted where a shell would take it apart.
pub fn quote(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "@%_-+=:,./".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_python() {
        for (line, words) in [
            ("a b  c", &["a", "b", "c"][..]),
            ("a 'b c' \"d e\"", &["a", "b c", "d e"]),
            ("a\\ b '\\' \"\\x\\\"\"", &["a b", "\\", "\\x\""]),
            ("''", &[""]),
            ("a | b", &["a", "|", "b"]),
            ("", &[]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert_eq!(
            split("echo 'x").unwrap_err().to_string(),
            "ValueError: No closing quotation"
        );
    }

    #[test]
    fn quoted_words_come_back() {
        for word in ["", "a b", "it's", "$HOME", "a.b/c"] {
            assert_eq!(split(&quote(word)).unwrap(), [word]);
        }
    }
}
