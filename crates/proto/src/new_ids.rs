//! Which ids a master allows for new minions.
//!
//! Salt accepts every id that is a file name. An id ends up in targets of reactors,
//! in command lines of external pillars and in scripts of admins, so an id that a
//! stranger has chosen may mean more there than one minion. Invariant: no rule
//! allows an id that a shell, a glob, a list of ids or a compound target reads as
//! anything but one word. Minions whose keys are accepted already keep their ids.

use crate::MinionId;

/// The characters that ids of new minions may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewIds {
    /// Those of host names and addresses: ASCII letters and digits, `.`, `-`,
    /// `_` and `:`.
    #[default]
    HostNames,
    /// Letters and digits of any script, and `@`, `+`, `=`, `%` as well.
    Wide,
}

impl NewIds {
    /// Checks the id of a new minion.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn check(self, id: &MinionId) -> Result<(), &'static str> {
        let text = id.as_str();
        let is_letter = |c: char| match self {
            Self::HostNames => c.is_ascii_alphanumeric(),
            Self::Wide => c.is_alphanumeric(),
        };
        let is_good = |c: char| {
            is_letter(c)
                || matches!(c, '.' | '-' | '_' | ':')
                || self == Self::Wide && matches!(c, '@' | '+' | '=' | '%')
        };
        if !text.starts_with(|c| is_letter(c) || c == '_') {
            return Err("it does not begin with a letter, a digit or `_`");
        }
        if !text.chars().all(is_good) {
            return Err(match self {
                Self::HostNames => "it holds a character that no host name has",
                Self::Wide => "it holds a character that shells or targets read",
            });
        }
        // `E@web` in a compound target is a regular expression.
        match text.split_once('@') {
            Some((kind, _)) if kind.chars().count() == 1 => {
                Err("it begins like a part of a compound target")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_taken(rule: NewIds, id: &str) -> bool {
        rule.check(&MinionId::parse(id).unwrap()).is_ok()
    }

    #[test]
    fn new_ids_are_one_word_wherever_they_are_read() {
        for id in ["web1", "web-1.example.com", "_x", "101_2", "fe80::1", "A"] {
            assert!(is_taken(NewIds::HostNames, id), "{id}");
            assert!(is_taken(NewIds::Wide, id), "{id}");
        }
        for id in ["ž", "root@web1", "a+b", "a=b", "50%"] {
            assert!(!is_taken(NewIds::HostNames, id), "{id}");
            assert!(is_taken(NewIds::Wide, id), "{id}");
        }
        for id in [
            "x;id>F;",
            "$(id)",
            "`id`",
            "a|b",
            "a&b",
            "a b",
            "not web1",
            "*",
            "web[0-9]*",
            "web?",
            "{a,b}",
            "a,b",
            "-A",
            "--all",
            "E@.*",
            "G@x",
            "L@a",
            "~root",
            "#x",
            "!x",
            "a'b",
            "a\"b",
            "a\u{a0}b",
            "...",
            ".x",
            ":x",
            "@x",
            "=x",
            "%s",
        ] {
            assert!(!is_taken(NewIds::HostNames, id), "{id}");
            assert!(!is_taken(NewIds::Wide, id), "{id}");
        }
    }
}
