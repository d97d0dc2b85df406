//! The patterns of the configuration's rules about users and functions.
//!
//! Invariant: a pattern is compiled once, when its rule is read.

use std::sync::Arc;

use halite_target::glob::Glob;
use halite_target::pcre::Pcre;

/// A pattern on names: exact text, glob or whole regular expression.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    glob: Glob,
    /// `None` if it cannot be understood as one.
    whole: Option<Pcre>,
    /// As Salt puts it together, where that is another: of `cmd|state` the
    /// beginning `cmd` is enough. For rules that forbid.
    parted: Option<Pcre>,
}

impl NamePattern {
    /// Reads it; every text is a pattern.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            glob: Glob::new(text),
            whole: Pcre::new(&format!(r"(?:{text})\Z")).ok(),
            parted: match text.contains('|') {
                true => Pcre::new(&format!(r"\A{text}\Z")).ok(),
                false => None,
            },
        }
    }

    /// Whether it matches the name. A pattern that takes too long to match does not:
    /// nothing is granted for it.
    pub fn names(&self, name: &str) -> bool {
        self.matches(name, false)
    }

    /// Whether it may match the name, by either reading; a pattern that takes too long
    /// counts as matching. For rules that forbid.
    pub fn may_name(&self, name: &str) -> bool {
        let begins = |parted: &Pcre| parted.matches_start(name).unwrap_or(true);
        self.matches(name, true) || self.parted.as_ref().is_some_and(begins)
    }

    fn matches(&self, name: &str, otherwise: bool) -> bool {
        let is_whole = |whole: &Pcre| whole.matches_start(name).unwrap_or(otherwise);
        self.text == name || self.glob.matches(name) || self.whole.as_ref().is_some_and(is_whole)
    }
}

/// A regular expression that the beginning of a text matches. One that cannot
/// be understood matches nothing.
#[derive(Clone, Debug)]
pub struct StartPattern(Option<Arc<Pcre>>);

impl StartPattern {
    /// Reads it.
    pub fn new(pattern: &str) -> Self {
        Self(Pcre::new(pattern).ok().map(Arc::new))
    }

    /// Whether the beginning of the text matches. What takes too long to tell
    /// does not.
    pub fn matches(&self, text: &str) -> bool {
        let begins = |pcre: &Pcre| pcre.matches_start(text).unwrap_or(false);
        self.0.as_deref().is_some_and(begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_text_a_glob_or_a_whole_expression() {
        for (pattern, name, is_named) in [
            ("fred", "fred", true),
            ("fr*", "fred", true),
            ("f.*d", "fred", true),
            ("a|ab", "ab", true),
            ("a", "ab", false),
            ("(", "(", true),
            ("(", "((", false),
        ] {
            assert_eq!(NamePattern::new(pattern).names(name), is_named, "{pattern}");
        }
    }

    #[test]
    fn alternatives_forbid_what_salt_forbids_and_grant_no_more() {
        let pattern = NamePattern::new("cmd|state");
        for (name, is_forbidden) in [
            ("cmd", true),
            ("state", true),
            ("cmd.run", true),
            ("test.ping", false),
        ] {
            assert_eq!(pattern.may_name(name), is_forbidden, "{name}");
        }
        assert!(!pattern.names("cmd.run"));
    }

    #[test]
    fn what_takes_too_long_to_tell_is_forbidden_and_not_granted() {
        let pattern = NamePattern::new(r"(a|a|aa)+(?=b)\1c");
        let name = "a".repeat(60);
        assert!(pattern.may_name(&name) && !pattern.names(&name));
        assert!(!StartPattern::new(r"(a|a|aa)+(?=b)\1c").matches(&name));
    }

    #[test]
    fn the_beginning_is_enough_for_the_other_kind() {
        assert!(StartPattern::new("test").matches("test.ping"));
        assert!(!StartPattern::new("ping").matches("test.ping"));
        assert!(!StartPattern::new("(").matches("("));
    }
}
