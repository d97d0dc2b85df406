//! Errors of parsing and matching targets.

use thiserror::Error;

/// A target that means nobody, and where it went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TargetError {
    /// What is wrong, in lower case, without the place.
    pub message: String,
    /// The byte of the target text that the message is about.
    pub offset: usize,
}

impl TargetError {
    /// An error about the byte `offset` of the target.
    pub fn new(offset: usize, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            offset,
        }
    }

    /// The same error in a text in which the target starts at `start`.
    #[must_use]
    pub fn shifted(mut self, start: usize) -> Self {
        self.offset += start;
        self
    }

    /// The target with a caret under the place, for people.
    pub fn render(&self, target: &str) -> String {
        let line = target.replace(['\n', '\t', '\r'], " ");
        let before = line
            .char_indices()
            .take_while(|(at, _)| *at < self.offset)
            .count();
        format!("{}\n  {line}\n  {}^", self.message, " ".repeat(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_counts_characters_not_bytes() {
        let error = TargetError::new("žž ".len(), "unmatched `)`");
        assert_eq!(error.render("žž )"), "unmatched `)`\n  žž )\n     ^");
    }
}
