//! The XML that `zypper --xmlout` writes: elements with attributes and text, in
//! the order in which they come.
//!
//! Invariant: whatever the text, reading ends and keeps at most what the text
//! holds; what is no XML is skipped.

/// An element: where it begins, and the text up to the next tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// The text behind the tag, without white space around it.
    pub(super) text: String,
}

impl Element {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn text_of(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    pub(super) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.attributes.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The elements of a text in the order of their tags; ends of elements are
/// elements with a `/` before their name.
pub(super) fn elements(text: &str) -> Vec<Element> {
    let mut found = Vec::new();
    for piece in text.split('<').skip(1) {
        let (tag, text) = split_tag(piece);
        let tag = tag.trim_end_matches('/').trim();
        let end = tag.find(char::is_whitespace).unwrap_or(tag.len());
        let (name, rest) = tag.split_at(end);
        if name.is_empty() || name.starts_with(['?', '!']) {
            continue;
        }
        found.push(Element {
            name: name.to_owned(),
            attributes: attributes(rest),
            text: unescape(text.trim()),
        });
    }
    found
}

/// A tag and what follows it; `>` within quotes is not its end.
fn split_tag(piece: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in piece.char_indices() {
        match (quote, c) {
            (None, '>') => return (&piece[..at], &piece[at + 1..]),
            (None, '"' | '\'') => quote = Some(c),
            (Some(end), c) if c == end => quote = None,
            _ => {}
        }
    }
    (piece, "")
}

fn attributes(mut rest: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            break;
        };
        let Some((value, next)) = after[1..].split_once(quote) else {
            break;
        };
        found.push((name.trim().to_owned(), unescape(value)));
        rest = next;
    }
    found
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    // The ampersand last, else it would make new names.
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&#10;", "\n")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read() {
        let text = "<?xml version='1.0'?>\n<a>\n<m type=\"error\">No &apos;x&apos; &lt;y&gt;.</m><s n=\"1 > 0\" e='2:1'/>\n</a>";
        let all = elements(text);
        let names: Vec<&str> = all.iter().map(|element| element.name.as_str()).collect();
        assert_eq!(names, ["a", "m", "/m", "s", "/a"]);
        assert_eq!(all[1].text, "No 'x' <y>.");
        assert_eq!(
            (all[3].get("n"), all[3].get("e")),
            (Some("1 > 0"), Some("2:1"))
        );
    }

    #[test]
    fn what_is_no_xml_is_skipped() {
        for text in [
            "",
            "<",
            "<<<",
            "<a b",
            "<a b=>",
            "<a b=\"x",
            "&",
            "a > b < c",
            "<a b='",
        ] {
            let _ = elements(text);
        }
    }
}
