//! Normalises rules to one notation.
//!
//! `nft` lists a rule differently than it was given: sets are sorted and one of a
//! single element has no braces, names are quoted, `meta` is left out, and counters
//! have values.

/// The words of a rule, for comparison.
pub(super) fn split(rule: &str) -> Vec<String> {
    let spaced = rule
        .replace('"', "")
        .replace(',', " , ")
        .replace('{', " { ")
        .replace('}', " } ");
    let mut words: Vec<String> = Vec::new();
    let mut set: Option<Vec<&str>> = None;
    let mut given = spaced.split_whitespace().peekable();
    while let Some(word) = given.next() {
        match (word, &mut set) {
            ("{", None) => set = Some(Vec::new()),
            ("}", Some(elements)) => {
                elements.sort_unstable();
                words.push(elements.join(","));
                set = None;
            }
            (",", Some(_)) => {}
            (element, Some(elements)) => elements.push(element),
            (",", None) => {
                // A list without braces: `established,related`.
                if let (Some(last), Some(next)) = (words.last_mut(), given.next()) {
                    let mut all: Vec<&str> = last.split(',').chain([next]).collect();
                    all.sort_unstable();
                    *last = all.join(",");
                }
            }
            ("meta", None) => {}
            ("packets" | "bytes", None) if counts(&words) => {
                given.next();
            }
            (word, None) => words.push(word.to_owned()),
        }
    }
    words
}

fn counts(words: &[String]) -> bool {
    words.last().is_some_and(|last| last == "counter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_found_in_what_is_listed() {
        for (given, listed) in [
            ("tcp dport { 22 } accept", "\t\ttcp dport 22 accept"),
            (
                "ct state { related,established } accept",
                "ct state { established, related } accept",
            ),
            (
                "ct state { related,established } accept",
                "ct state established,related accept",
            ),
            ("meta iifname eth0 drop", "iifname \"eth0\" drop"),
            ("counter accept", "counter packets 12 bytes 900 accept"),
            (
                "tcp dport { 443, 80 } accept",
                "tcp dport { 80, 443 } accept",
            ),
        ] {
            assert_eq!(split(given), split(listed), "{given}");
        }
        assert_ne!(split("accept"), split("tcp dport 22 accept"));
        assert_ne!(split("{ , } , {"), split("accept"));
    }
}
