//! Values of a label, bounded in number and in form.
//!
//! Invariant: names from minions take no room from the daemon's own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{HEARD_NAMES_MAX, NAME_CHARS_MAX, NAMES_MAX};

/// What counts together because it is too much, too long, or no name.
const OTHER: &str = "other";

/// The values that a label has had. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    own: BTreeSet<String>,
    heard: BTreeSet<String>,
}

/// Whose word a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// That of the daemon, or of somebody whom it has let do something.
    Own,
    /// That of any minion.
    Heard,
}

impl Names {
    /// Makes sure of a place for each of these.
    pub(crate) fn reserve(&self, names: &[&str]) {
        for name in names {
            self.bounded(name, Word::Own);
        }
    }

    /// The value under which `name` counts.
    pub(crate) fn bounded<'n>(&self, name: &'n str, word: Word) -> &'n str {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.bytes().all(is_letter) {
            return OTHER;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.own.contains(name) {
            return name;
        }
        let is_heard = known.heard.contains(name);
        let (names, number_max) = match word {
            Word::Own => (&mut known.own, NAMES_MAX),
            Word::Heard => (&mut known.heard, HEARD_NAMES_MAX),
        };
        if names.len() < number_max {
            names.insert(name.to_owned());
            return name;
        }
        if is_heard { name } else { OTHER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_a_bounded_number_of_values() {
        let names = Names::default();
        for number in 0..NAMES_MAX {
            let name = format!("test.f{number}");
            assert_eq!(names.bounded(&name, Word::Own), name);
        }
        assert_eq!(names.bounded("test.one_more", Word::Own), OTHER);
        assert_eq!(names.bounded("test.f7", Word::Own), "test.f7");
    }

    #[test]
    fn what_minions_name_takes_no_place_of_what_was_commanded() {
        let names = Names::default();
        names.reserve(&["job"]);
        for number in 0..10 * HEARD_NAMES_MAX {
            names.bounded(&format!("x{number}"), Word::Heard);
        }
        assert_eq!(names.bounded("y", Word::Heard), OTHER);
        assert_eq!(names.bounded("x0", Word::Heard), "x0");
        assert_eq!(names.bounded("job", Word::Heard), "job");
        assert_eq!(names.bounded("state.apply", Word::Own), "state.apply");
        assert_eq!(names.bounded("state.apply", Word::Heard), "state.apply");
        let known = names.0.lock().unwrap();
        assert_eq!(known.heard.len(), HEARD_NAMES_MAX);
    }

    #[test]
    fn what_is_no_name_counts_together() {
        let names = Names::default();
        for name in ["", "a b", "a\nb", "a\"", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert_eq!(names.bounded(name, Word::Own), OTHER);
        }
    }
}
