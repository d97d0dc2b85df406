//! Characters that control a terminal or change how a text looks: names and results
//! come from machines that may be compromised, and people read them on terminals
//! and in logs.

use std::borrow::Cow;

/// Whether a character commands a terminal, or turns around what stands beside
/// it.
pub fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether nobody would see the character in a name: one that is harmful, has
/// no width, or ends a line.
pub fn is_unseen(c: char) -> bool {
    is_harmful(c)
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text for a log: harmful characters stand there by their codes, and lines
/// behind the first one are set in, so that none can pass for a record of its
/// own.
pub fn for_log(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\n');
    if !text.contains(|c| is_harmful(c) && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\n    "),
            '\t' => shown.push(c),
            c if is_harmful(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// A text of somebody else as a part of a line: in quotes, with what is not
/// plain to see by its code, and cut behind so many characters.
pub fn quoted(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?} (cut)", &text[..end]),
    }
}

/// A text for a terminal, on which it colours what it likes and does nothing
/// else: what is harmful becomes a question mark.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| is_harmful(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\x1b' => colour(rest).unwrap_or(0),
            '\r' if rest.starts_with("\r\n") => 2,
            '\n' | '\t' => 1,
            c if is_harmful(c) => 0,
            c => c.len_utf8(),
        };
        let (taken, after) = match length {
            0 => ("?", &rest[c.len_utf8()..]),
            length => rest.split_at(length),
        };
        shown.push_str(taken);
        rest = after;
    }
    Cow::Owned(shown)
}

/// The bytes of the sequence at the beginning, if it sets a colour.
fn colour(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("\x1b[")?;
    let end = inside.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
    inside[end..].starts_with('m').then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_no_record_that_nobody_wrote() {
        for (text, expected) in [
            ("all is well", "all is well"),
            ("a\tb\n", "a\tb"),
            ("x\n2026-11-20 [ERROR] y", "x\n    2026-11-20 [ERROR] y"),
            ("a\x1b[2J\r\0b", "a\\u{1b}[2J\\r\\u{0}b"),
            ("a\u{9b}2Jb\u{202e}c", "a\\u{9b}2Jb\\u{202e}c"),
            ("ž\n\nž", "ž\n    \n    ž"),
        ] {
            assert_eq!(for_log(text), expected);
        }
    }

    #[test]
    fn what_others_say_is_a_short_part_of_a_line() {
        assert_eq!(quoted("fred", 4), r#""fred""#);
        assert_eq!(quoted("a\n\x1b[2J\"b", 80), r#""a\n\u{1b}[2J\"b""#);
        assert_eq!(quoted("žžž", 2), r#""žž" (cut)"#);
        assert_eq!(quoted("\u{202e}x", 80), r#""\u{202e}x""#);
    }

    #[test]
    fn a_terminal_is_coloured_and_nothing_else() {
        for (text, expected) in [
            ("ž\n\tb", "ž\n\tb"),
            ("\x1b[0;32mgreen\x1b[0;0m", "\x1b[0;32mgreen\x1b[0;0m"),
            ("a\x1b[2J\x1b[1;1Hb", "a?[2J?[1;1Hb"),
            ("\x1b]0;title\x07", "?]0;title?"),
            ("a\rb\r\nc", "a?b\r\nc"),
            ("\u{9b}2J\x0e\x08", "?2J??"),
            ("\u{202e}x\x1b", "?x?"),
            ("\x1b[", "?["),
        ] {
            assert_eq!(for_terminal(text), expected, "{text:?}");
        }
    }
}
