//! Which characters Python's text methods treat as white space and as the end of a
//! line.

/// How many characters Python counts in `text`.
pub fn len(text: &str) -> usize {
    text.chars().count()
}

/// `text.splitlines()`: the lines without their ends.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    lines_with_ends(text).map(|line| {
        let line = line
            .strip_suffix('\n')
            .map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        line.strip_suffix(is_line_end).unwrap_or(line)
    })
}

/// `text.splitlines(True)`: the lines with their ends.
pub fn lines_with_ends(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(is_line_end).map_or(rest.len(), |at| {
            let end = &rest[at..];
            let width = if end.starts_with("\r\n") {
                2
            } else {
                end.chars().next().map_or(0, char::len_utf8)
            };
            at + width
        });
        let (line, behind) = rest.split_at(end);
        rest = behind;
        Some(line)
    })
}

/// `text.rstrip()`.
pub fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// `text.strip()`.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `char.isspace()`; Python counts four more control characters than Unicode.
pub fn is_space(char: char) -> bool {
    char.is_whitespace() || ('\x1c'..='\x1f').contains(&char)
}

fn is_line_end(char: char) -> bool {
    matches!(
        char,
        '\n' | '\x0b' | '\x0c' | '\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_split_where_python_splits_them() {
        let lines_of = |text| lines(text).collect::<Vec<_>>();
        assert_eq!(lines_of(""), [""; 0]);
        assert_eq!(lines_of("\n"), [""]);
        assert_eq!(
            lines_of("a\r\nb\rc\n\nd\x0be\u{2028}f"),
            ["a", "b", "c", "", "d", "e", "f"]
        );
        assert_eq!(
            lines_with_ends("a\r\nb").collect::<Vec<_>>(),
            ["a\r\n", "b"]
        );
    }
}
