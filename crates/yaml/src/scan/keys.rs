//! Places where a key may have started.
//!
//! Invariant: a remembered place is on the current line and at most
//! [`SIMPLE_KEY_CHARS_MAX`] characters back.

use super::Scanner;
use super::cursor::Mark;
use super::token::Fault;

/// Longest key without a `?`, in characters.
const SIMPLE_KEY_CHARS_MAX: usize = 1024;

/// A place where a key may have started.
#[derive(Clone, Copy)]
pub(super) struct PossibleKey {
    pub(super) possible: bool,
    /// Whether it has to be a key, because of where it stands.
    pub(super) required: bool,
    pub(super) token: usize,
    pub(super) mark: Mark,
}

impl PossibleKey {
    pub(super) const NONE: Self = Self {
        possible: false,
        required: false,
        token: 0,
        mark: Mark {
            index: 0,
            line: 0,
            column: 0,
        },
    };

    fn check(&self, here: Mark) -> Result<(), Fault> {
        if self.possible && self.required {
            let problem = "could not find expected ':'";
            let context = "while scanning a simple key";
            return Err(Fault::scanner(problem, here).while_reading(context, self.mark));
        }
        Ok(())
    }
}

impl Scanner<'_> {
    pub(super) fn needs_more(&mut self) -> Result<bool, Fault> {
        if self.tokens.is_empty() {
            return Ok(true);
        }
        self.forget_stale_keys()?;
        let front = self.taken;
        Ok(self
            .keys
            .iter()
            .any(|key| key.possible && key.token == front))
    }

    /// Gives up places that are too far back to be keys.
    pub(super) fn forget_stale_keys(&mut self) -> Result<(), Fault> {
        let here = self.cursor.mark();
        for key in &mut self.keys {
            let mark = key.mark;
            let stale = mark.line < here.line || mark.index + SIMPLE_KEY_CHARS_MAX < here.index;
            if key.possible && stale {
                key.check(here)?;
                key.possible = false;
            }
        }
        Ok(())
    }

    /// Remembers that a key may start here.
    pub(super) fn save_key(&mut self) -> Result<(), Fault> {
        if !self.key_allowed {
            return Ok(());
        }
        let mark = self.cursor.mark();
        let key = PossibleKey {
            possible: true,
            required: !self.in_flow() && self.indent == i64::from(mark.column),
            token: self.taken + self.tokens.len(),
            mark,
        };
        self.remove_key()?;
        if let Some(last) = self.keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    pub(super) fn remove_key(&mut self) -> Result<(), Fault> {
        let here = self.cursor.mark();
        if let Some(key) = self.keys.last_mut() {
            key.check(here)?;
            key.possible = false;
        }
        Ok(())
    }
}
