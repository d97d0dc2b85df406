//! Regular expressions in Python's dialect, as the targets `-E`, `-P` and `J@` use
//! them: matched from the start of the text, not necessarily to its end.
//!
//! The pattern is translated to the dialect of the engine, so that what Python
//! takes literally is literal here and what Python refuses is refused.
//!
//! Invariant: matching is limited by [`REGEX_STEPS_MAX`], compiling by
//! [`REGEX_BYTES_MAX`].

mod class;
mod group;
mod translate;

use fancy_regex::RegexBuilder;

use crate::TargetError;
use crate::limits::{
    EXPRESSION_BYTES_MAX, REGEX_BYTES_MAX, REGEX_CACHE_BYTES_MAX, REGEX_STEPS_MAX,
};

/// A regular expression that is ready to match many texts.
#[derive(Debug, Clone)]
pub struct Pcre {
    source: String,
    anchored: fancy_regex::Regex,
    anywhere: Option<fancy_regex::Regex>,
}

impl Pcre {
    /// Reads a regular expression as Python's `re.compile`, to be matched with
    /// [`Pcre::matches_start`].
    ///
    /// # Errors
    /// When Python would refuse it, when it needs something that is not
    /// supported here (`(?a)`, `(?L)`, `\N{...}`), or when it is too large.
    pub fn new(pattern: &str) -> Result<Self, TargetError> {
        let body = translated(pattern)?.pattern;
        Ok(Self {
            source: pattern.to_owned(),
            anchored: build(format!(r"\A(?:{body})"))?,
            anywhere: None,
        })
    }

    /// Like [`Pcre::new`], to be matched with [`Pcre::is_in`] too.
    ///
    /// # Errors
    /// As [`Pcre::new`].
    pub fn searching(pattern: &str) -> Result<Self, TargetError> {
        let body = translated(pattern)?.pattern;
        Ok(Self {
            anywhere: Some(build(format!("(?:{body})"))?),
            ..Self::new(pattern)?
        })
    }

    /// Python's `re.match`: whether the start of `text` matches.
    ///
    /// # Errors
    /// When it takes more than [`REGEX_STEPS_MAX`] steps to tell.
    pub fn matches_start(&self, text: &str) -> Result<bool, TargetError> {
        run(&self.anchored, text)
    }

    /// Python's `re.search`: whether a part of `text` matches.
    ///
    /// # Errors
    /// When it takes more than [`REGEX_STEPS_MAX`] steps to tell.
    pub fn is_in(&self, text: &str) -> Result<bool, TargetError> {
        run(self.anywhere.as_ref().unwrap_or(&self.anchored), text)
    }

    /// The expression as it was given.
    pub fn as_str(&self) -> &str {
        &self.source
    }
}

/// Equality of the expressions as given.
impl PartialEq for Pcre {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pcre {}

/// Python's `re.match(pattern, text)` as yes or no.
///
/// # Errors
/// As [`Pcre::new`] and [`Pcre::matches_start`].
pub fn match_start(pattern: &str, text: &str) -> Result<bool, TargetError> {
    Pcre::new(pattern)?.matches_start(text)
}

/// The pattern in the dialect of the engine (`fancy_regex`), for callers that
/// need more of a match than yes or no; and the names of its groups, which
/// have but numbers there.
///
/// # Errors
/// As [`Pcre::new`].
pub fn engine_pattern(pattern: &str) -> Result<(String, Vec<Option<String>>), TargetError> {
    let translated = translated(pattern)?;
    Ok((translated.pattern, translated.names))
}

fn translated(pattern: &str) -> Result<translate::Translated, TargetError> {
    if pattern.len() > EXPRESSION_BYTES_MAX {
        let message = format!("a regular expression has at most {EXPRESSION_BYTES_MAX} bytes");
        return Err(TargetError::new(0, message));
    }
    translate::to_engine(pattern)
}

fn build(pattern: String) -> Result<fancy_regex::Regex, TargetError> {
    RegexBuilder::new(&pattern)
        .backtrack_limit(REGEX_STEPS_MAX)
        .delegate_size_limit(REGEX_BYTES_MAX)
        .delegate_dfa_size_limit(REGEX_CACHE_BYTES_MAX)
        .build()
        .map_err(|error| TargetError::new(0, format!("invalid regular expression: {error}")))
}

fn run(regex: &fancy_regex::Regex, text: &str) -> Result<bool, TargetError> {
    regex
        .is_match(text)
        .map_err(|_| TargetError::new(0, "the regular expression takes too many steps to match"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_anchored_and_the_end_is_not() {
        assert_eq!(match_start("web", "web1.example"), Ok(true));
        assert_eq!(match_start("web", "my-web"), Ok(false));
        assert_eq!(match_start("a|b", "xb"), Ok(false));
        assert_eq!(match_start("web$", "web1"), Ok(false));
    }

    #[test]
    fn searching_looks_everywhere() {
        let pcre = Pcre::searching("w.b").unwrap();
        assert_eq!(pcre.is_in("my-web"), Ok(true));
        assert_eq!(pcre.matches_start("my-web"), Ok(false));
    }

    #[test]
    fn an_expression_that_explodes_is_stopped() {
        let text = "a".repeat(60);
        let error = match_start(r"(a|a|aa)+(?=b)\1c", &text).unwrap_err();
        assert!(error.message.contains("too many steps"), "{error}");
    }

    #[test]
    fn errors_name_the_byte() {
        for (pattern, offset, message) in [
            ("web(", 3, "missing ), unterminated subpattern"),
            ("web)", 3, "unbalanced parenthesis"),
            ("we[b", 2, "unterminated character set"),
            ("ž*+*", 4, "multiple repeat"),
            ("*web", 0, "nothing to repeat"),
            ("we\\y", 2, "bad escape \\y"),
            ("[z-a]", 1, "bad character range z-a"),
            ("a\\", 1, "bad escape (end of pattern)"),
            ("\\1", 0, "invalid group reference 1"),
            ("(?P=no)", 4, "unknown group name 'no'"),
            (
                "a(?i)",
                1,
                "global flags not at the start of the expression",
            ),
            ("x{3,2}", 1, "min repeat greater than max repeat"),
        ] {
            let error = Pcre::new(pattern).unwrap_err();
            assert_eq!(
                (error.offset, error.message.as_str()),
                (offset, message),
                "{pattern}"
            );
        }
    }
}
