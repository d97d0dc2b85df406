//! The comment at the head of managed files.

use halite_proto::Value;

use halite_call::{Call, CallError, CallResult, python};

const TITLE: &str = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT";
const TEXT: &str = "The contents of this file are managed by Salt. Any changes to this file may be \
                    overwritten automatically and without warning.";

pub(super) fn banner(call: &Call<'_>) -> CallResult {
    let optional = |name: &str| match call.arg(name) {
        Value::Nil => None,
        value => Some(python::str(value)),
    };
    let count = |text: &str| text.chars().count();
    let comment = call.text("commentchar");
    let border: String = call.text("borderchar").chars().take(1).collect();
    let width = usize::try_from(call.int("width")?).unwrap_or_default();
    let (left, right) = (comment.trim_end(), comment.trim());
    let (left_gutter, right_gutter) = (format!("{left} "), format!(" {right}"));
    let inner = width
        .checked_sub(count(&left_gutter) + count(&right_gutter))
        .filter(|inner| *inner > 0)
        .ok_or_else(|| CallError::command("Width is too small to render banner"))?;
    let repeat = |text: &str, more: usize, less: usize| text.repeat(more.saturating_sub(less));
    let line = format!(
        "{comment}{}{right}",
        repeat(&border, width, count(left) + count(right))
    );
    let blank = format!(
        "{comment}{}{comment}",
        repeat(" ", width, 2 * count(&comment))
    );

    let mut block = Vec::new();
    block.extend(optional("blockstart"));
    block.push(line.clone());
    block.push(blank.clone());
    for text in wrap(
        &optional("title").unwrap_or_else(|| TITLE.to_owned()),
        inner,
    ) {
        block.push(format!(
            "{left_gutter}{}{right_gutter}",
            center(&text, inner)
        ));
    }
    block.push(blank);
    for text in wrap(&optional("text").unwrap_or_else(|| TEXT.to_owned()), inner) {
        let pad = repeat(" ", inner, count(&text));
        block.push(format!("{left_gutter}{text}{pad}{right_gutter}"));
    }
    block.push(line);
    block.extend(optional("blockend"));
    let mut banner = block.join("\n");
    if call.flag("newline") {
        banner.push('\n');
    }
    Ok(banner.into())
}

/// `str.center`: of an odd rest, the left side gets more if the width is odd.
fn center(text: &str, width: usize) -> String {
    let rest = width.saturating_sub(text.chars().count());
    let left = rest / 2 + (rest & width & 1);
    format!("{}{text}{}", " ".repeat(left), " ".repeat(rest - left))
}

/// `textwrap.wrap`: lines of at most `width` characters, broken at blanks,
/// after hyphens within words, and in words that are too long.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    let text = text.replace(['\n', '\t', '\r', '\x0b', '\x0c'], " ");
    for word in text.split_inclusive(' ').flat_map(pieces) {
        let mut word: &str = word;
        loop {
            let own = word.trim_end().chars().count();
            if length + own <= width {
                if !(line.is_empty() && own == 0 && !lines.is_empty()) {
                    line.push_str(word);
                    length += word.chars().count();
                }
                break;
            }
            if own > width && length < width && line.trim().is_empty() {
                let at = word
                    .char_indices()
                    .nth(width)
                    .map_or(word.len(), |(at, _)| at);
                lines.push(word[..at].to_owned());
                word = &word[at..];
            } else {
                lines.push(line.trim_end().to_owned());
            }
            line.clear();
            length = 0;
        }
    }
    if !line.trim().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// A word and its blank, apart behind its hyphens.
fn pieces(word: &str) -> Vec<&str> {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic());
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in word.match_indices('-') {
        let before = word[start..at]
            .chars()
            .rev()
            .take(2)
            .all(char::is_alphabetic)
            && word[start..at].chars().count() >= 2;
        if before && letter(word[at + 1..].chars().next()) {
            pieces.push(&word[start..=at]);
            start = at + 1;
        }
    }
    pieces.push(&word[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_as_python_does() {
        assert_eq!(wrap("a bb ccc dddd", 5), ["a bb", "ccc", "dddd"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("well-known fact", 7), ["well-", "known", "fact"]);
        assert_eq!(center("abc", 6), " abc  ");
        assert_eq!(center("ab", 5), "  ab ");
    }
}
