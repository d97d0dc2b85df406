//! A list of ids, as in `autosign_file` and `autoreject_file`.
//!
//! Each line is tried in three ways: as the id itself, as a glob, and as a regular
//! expression over the whole id. All three count for every line, so `web*` also has
//! its meaning as an expression, as in Salt.

use std::collections::HashSet;

use halite_target::glob::{Glob, is_glob};
use halite_target::pcre::Pcre;

use crate::limits::LIST_REGEXES_MAX;

/// The patterns of one list, ready to be asked.
#[derive(Debug, Default)]
pub struct PatternList {
    exact: HashSet<String>,
    globs: Vec<Glob>,
    /// Lines with no other sign of an expression than dots, as host names
    /// have them: they need no engine.
    dotted: Vec<String>,
    regexes: Vec<Pcre>,
    skipped: usize,
}

impl PatternList {
    /// Reads the lines of a list; empty lines and those that start with `#`
    /// do not count.
    pub fn parse(text: &str) -> Self {
        let mut list = Self::default();
        for line in text.lines().map(str::trim) {
            if !line.is_empty() && !line.starts_with('#') {
                list.add(line);
            }
        }
        list
    }

    /// Whether a line means this id.
    pub fn matches(&self, id: &str) -> bool {
        self.exact.contains(id)
            || self.globs.iter().any(|glob| glob.matches(id))
            || self.dotted.iter().any(|line| dots_match(line, id))
            || self
                .regexes
                .iter()
                .any(|regex| regex.matches_start(id).unwrap_or(false))
    }

    /// How many lines were not taken as expressions because there were too
    /// many; they still count as ids and as globs.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    fn add(&mut self, line: &str) {
        if is_glob(line) {
            self.globs.push(Glob::new(line));
        }
        if line.contains(|c: char| c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '.')) {
            if self.regexes.len() >= LIST_REGEXES_MAX {
                self.skipped += 1;
            } else if let Ok(regex) = Pcre::new(&format!(r"\A{line}\Z")) {
                self.regexes.push(regex);
            }
        } else if line.contains('.') {
            self.dotted.push(line.to_owned());
        }
        self.exact.insert(line.to_owned());
    }
}

/// Whether `text` is `pattern` with any character for each dot.
fn dots_match(pattern: &str, text: &str) -> bool {
    let mut text = text.chars();
    let same = pattern.chars().all(|wanted| match text.next() {
        Some(found) => found == wanted || (wanted == '.' && found != '\n'),
        None => false,
    });
    same && text.next().is_none()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn check(line: &str, id: &str, expected: bool) {
        let list = PatternList::parse(line);
        assert_eq!(list.matches(id), expected, "{line:?} {id:?}");
    }

    #[test]
    fn a_line_is_an_id_a_glob_and_an_expression() {
        check("web1", "web1", true);
        check("web1", "web12", false);
        check("web1", "aweb1", false);
        check("web*", "web12", true);
        check("web*", "we", true);
        check(r"web\d+", "web12", true);
        check(r"web\d+", "web12x", false);
        check("web1.example.com", "web1.example.com", true);
        check("web1.example.com", "web1xexample.com", true);
        check("web1.example.com", "web1.example.co", false);
        check("web1.example.com", "web1.example.com2", false);
        check("[bad", "[bad", true);
        check("(bad", "bad", false);
    }

    #[test]
    fn an_alternative_is_anchored_where_salt_anchors_it() {
        check("web|db", "web99", true);
        check("web|db", "db", true);
        check("web|db", "db2", false);
    }

    #[test]
    fn comments_and_empty_lines_mean_nobody() {
        let list = PatternList::parse("# web1\n\n   \n  web2  \r\n");
        assert!(list.matches("web2"));
        for id in ["", "web1", "# web1", "#"] {
            assert!(!list.matches(id), "{id:?}");
        }
    }

    #[test]
    fn beyond_the_limit_lines_are_still_ids_and_globs() {
        let mut text = String::new();
        for line in 0..LIST_REGEXES_MAX + 2 {
            writeln!(text, "m{line}[0-9]").unwrap();
        }
        let list = PatternList::parse(&text);
        assert_eq!(list.skipped(), 2);
        assert!(list.matches(&format!("m{}5", LIST_REGEXES_MAX + 1)));
    }
}
