//! White and black lists of names, as Salt's `check_whitelist_blacklist` reads
//! them: each entry is a glob, and a regular expression for the whole name.
//!
//! Invariant: a name on the black list is hidden, whatever the white list says; an
//! entry that takes too long to match hides the name.

use crate::glob::Glob;
use crate::pcre::Pcre;

/// Which names may be seen.
#[derive(Debug, Clone, Default)]
pub struct Exposure {
    whitelist: Vec<Entry>,
    blacklist: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    glob: Glob,
    /// `None` if the entry is no regular expression.
    regex: Option<Pcre>,
}

impl Exposure {
    /// Reads both lists; an empty one restricts nothing.
    pub fn new(whitelist: &[String], blacklist: &[String]) -> Self {
        let entries = |list: &[String]| list.iter().map(|text| Entry::new(text)).collect();
        Self {
            whitelist: entries(whitelist),
            blacklist: entries(blacklist),
        }
    }

    /// Whether both lists are empty.
    pub const fn shows_all(&self) -> bool {
        self.whitelist.is_empty() && self.blacklist.is_empty()
    }

    /// Whether a name may be seen.
    pub fn shows(&self, name: &str) -> bool {
        let is_black = self
            .blacklist
            .iter()
            .any(|entry| entry.matches(name).unwrap_or(true));
        let is_white = |entry: &Entry| entry.matches(name).unwrap_or(false);
        !is_black && (self.whitelist.is_empty() || self.whitelist.iter().any(is_white))
    }
}

impl Entry {
    fn new(text: &str) -> Self {
        Self {
            glob: Glob::new(text),
            regex: Pcre::new(&format!(r"\A{text}\Z")).ok(),
        }
    }

    /// `None` if it takes too long to tell.
    fn matches(&self, name: &str) -> Option<bool> {
        if self.glob.matches(name) {
            return Some(true);
        }
        match &self.regex {
            None => Some(false),
            Some(regex) => regex.matches_start(name).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_black_list_counts_before_the_white_one() {
        let shows = |white: &[&str], black: &[&str], name: &str| {
            let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
            let (white, black): (Vec<String>, Vec<String>) = (texts(white), texts(black));
            Exposure::new(&white, &black).shows(name)
        };
        assert!(shows(&[], &[], "web1"));
        assert!(shows(&["web*"], &[], "web1"));
        assert!(!shows(&["web*"], &[], "db1"));
        assert!(!shows(&[], &["db?"], "db1"));
        assert!(shows(&[], &["db?"], "db10"));
        assert!(!shows(&["web*"], &["web1"], "web1"));
        assert!(shows(&[r"web\d+"], &[], "web17"));
        assert!(!shows(&[r"web\d+"], &[], "web17x"));
        // Not a regular expression, so it is only a glob.
        assert!(shows(&["*(1"], &[], "web(1"));
    }

    #[test]
    fn an_entry_that_takes_too_long_hides_the_name() {
        let endless = vec![r"(a|a)*\1b".to_owned()];
        let name = "a".repeat(64);
        assert_eq!(Entry::new(&endless[0]).matches(&name), None);
        assert!(!Exposure::new(&[], &endless).shows(&name));
        assert!(!Exposure::new(&endless, &[]).shows(&name));
    }
}
