//! Shell patterns by the rules of Python's `fnmatch`, case sensitive.
//!
//! `*` is any text (also `/` and line breaks), `?` one character, `[abc]`, `[a-z]`
//! and `[!a]` one character of a set. There is no escape character; an unclosed
//! bracket is literal.
//!
//! Invariant: matching takes at most pattern length times text length steps.

/// Whether `text` as a whole matches `pattern`.
pub fn fnmatch(pattern: &str, text: &str) -> bool {
    if !is_glob(pattern) {
        return pattern == text;
    }
    Glob::new(pattern).matches(text)
}

/// Whether `pattern` has any character that is special in a pattern.
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

/// The texts that match `pattern`, in their order.
pub fn filter<'t>(pattern: &str, texts: impl IntoIterator<Item = &'t str>) -> Vec<&'t str> {
    let glob = Glob::new(pattern);
    texts
        .into_iter()
        .filter(|text| glob.matches(text))
        .collect()
}

/// A pattern that is ready to match many texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// Any text.
    Any,
    /// Any one character.
    One,
    /// This character.
    Char(char),
    /// One character in (or, negated, outside) these ranges.
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Glob {
    /// Reads `pattern`; every text is a pattern.
    pub fn new(pattern: &str) -> Self {
        let chars: Vec<char> = pattern.chars().collect();
        let mut tokens = Vec::with_capacity(chars.len());
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            at += 1;
            match c {
                '*' if tokens.last() == Some(&Token::Any) => {}
                '*' => tokens.push(Token::Any),
                '?' => tokens.push(Token::One),
                '[' => match set_end(&chars, at) {
                    Some(end) => {
                        tokens.push(set(&chars[at..end]));
                        at = end + 1;
                    }
                    None => tokens.push(Token::Char('[')),
                },
                other => tokens.push(Token::Char(other)),
            }
        }
        Self { tokens }
    }

    /// Whether `text` as a whole matches.
    pub fn matches(&self, text: &str) -> bool {
        let tokens = &self.tokens;
        let mut at = 0;
        let mut rest = text.chars();
        // Where to go on when a guess of how much the last `*` takes was wrong.
        let mut retry = None;
        loop {
            if tokens.get(at) == Some(&Token::Any) {
                at += 1;
                if at == tokens.len() {
                    return true;
                }
                retry = Some((at, rest.clone()));
                continue;
            }
            let mut next = rest.clone();
            match (tokens.get(at), next.next()) {
                (None, None) => return true,
                (Some(token), Some(c)) if token.takes(c) => {
                    at += 1;
                    rest = next;
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = retry.as_mut() else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            at = *after;
            rest = from.clone();
        }
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Char(own) => *own == c,
            Self::Set { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
            }
        }
    }
}

/// The index of the bracket that closes the set whose content starts at
/// `start`; a bracket in the first place is content.
fn set_end(chars: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    if chars.get(at) == Some(&'!') {
        at += 1;
    }
    if chars.get(at) == Some(&']') {
        at += 1;
    }
    (at..chars.len()).find(|&i| chars[i] == ']')
}

/// The set between two brackets. Reversed ranges are dropped together with
/// both their ends, as Python does.
fn set(content: &[char]) -> Token {
    let mut chunks = chunks(content);
    let mut k = chunks.len();
    while k > 1 {
        k -= 1;
        let reversed = match (chunks[k - 1].last(), chunks[k].first()) {
            (Some(from), Some(to)) => from > to,
            _ => false,
        };
        if reversed {
            let tail = chunks.remove(k);
            chunks[k - 1].pop();
            chunks[k - 1].extend(tail.into_iter().skip(1));
        }
    }
    let negated = chunks.first().and_then(|chunk| chunk.first()) == Some(&'!');
    if negated && let Some(first) = chunks.first_mut() {
        first.remove(0);
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut from = None;
    for chunk in chunks {
        let (first, rest) = match chunk.split_first() {
            Some((first, rest)) => (*first, rest),
            None => continue,
        };
        ranges.push((from.unwrap_or(first), first));
        ranges.extend(rest.iter().map(|c| (*c, *c)));
        from = chunk.last().copied();
    }
    Token::Set { negated, ranges }
}

/// Cuts a set's content at the hyphens that make ranges: not the first
/// character, not the last, and not directly behind another range.
fn chunks(content: &[char]) -> Vec<Vec<char>> {
    let mut chunks: Vec<Vec<char>> = Vec::new();
    let mut start = 0;
    let mut look = if content.first() == Some(&'!') { 2 } else { 1 };
    while let Some(hyphen) = (look..content.len()).find(|&i| content[i] == '-') {
        chunks.push(content[start..hyphen].to_vec());
        start = hyphen + 1;
        look = hyphen + 3;
    }
    match (content.get(start..), chunks.last_mut()) {
        (Some([]) | None, Some(last)) => last.push('-'),
        (Some(rest), _) => chunks.push(rest.to_vec()),
        (None, None) => {}
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "a/b\nc", true),
            ("web*", "web1", true),
            ("web*", "Web1", false),
            ("web?", "web", false),
            ("web[0-9]", "web5", true),
            ("web[0-9]", "webx", false),
            ("*.example.com", "a.b.example.com", true),
            ("*a*b*c*", "xxaxxbxxc", true),
            ("*a*b*c*", "xxaxxcxxb", false),
            ("a.c", "abc", false),
            ("ž?", "žž", true),
            ("a*b", "a\u{1F600}b", true),
        ] {
            assert_eq!(fnmatch(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }
}
