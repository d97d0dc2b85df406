//! Lines of a text, as `str.splitlines()` and iterating over a file give them.

/// Splits at `\n` only, ends kept: what iterating over a file in binary mode
/// or with `newline=''` gives.
pub(crate) fn kept(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// `str.splitlines()`.
pub(crate) fn split(text: &str) -> Vec<&str> {
    lines_of(text)
}

fn is_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r'
            | '\x0b'
            | '\x0c'
            | '\x1c'
            | '\x1d'
            | '\x1e'
            | '\u{85}'
            | '\u{2028}'
            | '\u{2029}'
    )
}

fn lines_of(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((at, c)) = rest.char_indices().find(|(_, c)| is_break(*c)) else {
            lines.push(rest);
            break;
        };
        let mut end = at + c.len_utf8();
        if c == '\r' && rest[end..].starts_with('\n') {
            end += 1;
        }
        lines.push(&rest[..at]);
        rest = &rest[end..];
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_python_ends_them() {
        assert_eq!(split("a\r\nb\rc\n\nd"), ["a", "b", "c", "", "d"]);
        assert_eq!(split("a\n\nb\n"), ["a", "", "b"]);
        assert_eq!(kept("a\r\nb"), ["a\r\n", "b"]);
    }
}
