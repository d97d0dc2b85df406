//! Values of a label, bounded in number and in form.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{NAME_CHARS_MAX, NAMES_MAX};

/// What counts together because it is too much, too long, or no name.
const OTHER: &str = "other";

/// The values that a label has had. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Arc<Mutex<BTreeSet<String>>>);

impl Names {
    /// The value under which `name` counts.
    pub(crate) fn bounded<'n>(&self, name: &'n str) -> &'n str {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.bytes().all(is_letter) {
            return OTHER;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(name) {
            return name;
        }
        if known.len() >= NAMES_MAX {
            return OTHER;
        }
        known.insert(name.to_owned());
        name
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
            assert_eq!(names.bounded(&name), name);
        }
        assert_eq!(names.bounded("test.one_more"), OTHER);
        assert_eq!(names.bounded("test.f7"), "test.f7");
    }

    #[test]
    fn what_is_no_name_counts_together() {
        let names = Names::default();
        for name in ["", "a b", "a\nb", "a\"", &"x".repeat(NAME_CHARS_MAX + 1)] {
            assert_eq!(names.bounded(name), OTHER);
        }
    }
}
