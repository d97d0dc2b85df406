//! Writes an address with its password into the configuration of a repository, on
//! request, without the password on a command line.
//!
//! Invariant: git finds the file, and the user whom git runs as writes it.

use halite_call::{Call, CallError};

use super::Git;
use super::password::Place;

/// What git has edit its configuration: it adds the place. No program has that among
/// its words.
const EDITOR: &str = "f() { cat >>\"$1\" <<END\n[remote \"$HALITE_GIT_REMOTE\"]\n\t\
                      $HALITE_GIT_KEY = \"$HALITE_GIT_PLACE\"\nEND\n}; f";

impl Git {
    /// Has the setting `key` of a remote, which is `place` without its password, name
    /// that too.
    ///
    /// # Errors
    /// When git cannot be run, or the file not be written.
    pub(super) fn keep_password(
        &self,
        call: &Call<'_>,
        remote: &str,
        key: &str,
        place: &Place,
    ) -> Result<(), CallError> {
        let Some(login) = &place.login else {
            return Ok(());
        };
        let edit = ["config", "--local", "--edit"].map(str::to_owned);
        let program = self.program(call, &edit)?;
        let program = program
            .env("GIT_EDITOR", EDITOR)
            .env("HALITE_GIT_REMOTE", quoted(remote))
            .env("HALITE_GIT_KEY", key)
            .env("HALITE_GIT_PLACE", quoted(&login.full));
        let ran = program.run()?;
        if !ran.ok() {
            return Err(self.failed(&edit, &ran));
        }
        // What came first counts: it goes.
        let (name, plain) = (format!("remote.{remote}.{key}"), pattern(&place.url));
        self.go(call, &["config", "--local", "--unset", &name, &plain])
            .map(drop)
    }
}

/// A text between the quotes of a configuration.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A pattern that this text matches, and no other.
fn pattern(text: &str) -> String {
    let mut pattern = "^".to_owned();
    for c in text.chars() {
        match c {
            '\\' | '^' => pattern.extend(['\\', c]),
            c if c.is_ascii_punctuation() => pattern.extend(['[', c, ']']),
            c => pattern.push(c),
        }
    }
    pattern + "$"
}
