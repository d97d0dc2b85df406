//! Key texts: their normal form and their fingerprints.

use crate::hash::{HashType, hash_hex};

/// The form in which keys are sent and compared: no white space around the
/// text, lines joined by `\n`, no line end at the end.
pub fn clean_key(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.trim_matches(is_python_space);
    while let Some(end) = rest.find(is_line_end) {
        clean.push_str(&rest[..end]);
        clean.push('\n');
        let after = &rest[end..];
        rest = match (after.strip_prefix("\r\n"), after.strip_prefix(is_line_end)) {
            (Some(rest), _) | (None, Some(rest)) => rest,
            (None, None) => after,
        };
    }
    clean.push_str(rest);
    clean
}

/// The fingerprint of a key *file*: of its lines between the armour, blank
/// lines left out. `master_finger` and `key.finger` use this one.
pub fn fingerprint_path(file: &[u8], hash_type: HashType) -> String {
    let lines: Vec<&[u8]> = file
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .collect();
    let mut body = Vec::with_capacity(file.len());
    if let [_, inner @ .., _] = lines.as_slice() {
        for line in inner {
            match line.strip_suffix(b"\r\n") {
                Some(line) => {
                    body.extend_from_slice(line);
                    body.push(b'\n');
                }
                None => body.extend_from_slice(line),
            }
        }
    }
    with_colons(&hash_hex(hash_type, &body))
}

/// The fingerprint of a key *text*, armour and all, as `salt-key -f` and `-F`
/// of 3008 show it; it differs from the one of the file.
pub fn fingerprint_text(text: &[u8], hash_type: HashType) -> String {
    with_colons(&hash_hex(hash_type, text))
}

fn with_colons(hex: &str) -> String {
    let mut text = String::with_capacity(hex.len() / 2 * 3);
    for (index, digit) in hex.chars().enumerate() {
        if index > 0 && index % 2 == 0 {
            text.push(':');
        }
        text.push(digit);
    }
    text
}

/// What `str.strip()` of Python takes for white space.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// What `str.splitlines()` of Python takes for the end of a line.
fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_becomes_a_newline() {
        assert_eq!(
            clean_key("\r\n a\r\nb\rc\n\nd\u{2028}e \n"),
            "a\nb\nc\n\nd\ne"
        );
        assert_eq!(clean_key(" \n "), "");
    }

    #[test]
    fn a_fingerprint_of_nothing_is_still_text() {
        let empty = fingerprint_path(b"", HashType::Md5);
        assert_eq!(empty, "d4:1d:8c:d9:8f:00:b2:04:e9:80:09:98:ec:f8:42:7e");
        assert_eq!(fingerprint_path(b"one line", HashType::Md5), empty);
    }
}
