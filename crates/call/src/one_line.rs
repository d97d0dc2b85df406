//! Texts that become a field of a line of some file.
//!
//! Invariant: one call writes one line. Otherwise a user who may set a field could
//! write whole lines: an entry of root's crontab, a key that may sign in.

use crate::CallError;

/// What ends a line for one reader or another of such files.
const ENDS: [char; 3] = ['\n', '\r', '\0'];

/// Whether a text stays within its line.
pub fn is_one_line(text: &str) -> bool {
    !text.contains(ENDS)
}

/// Refuses a field that would end its line; `what` names it.
///
/// # Errors
/// When a line break or a NUL is in it.
pub fn check_one_line(what: &str, text: &str) -> Result<(), CallError> {
    match is_one_line(text) {
        true => Ok(()),
        false => Err(CallError::invocation(format!(
            "{what} is one line: {text:?} has a line break or a NUL"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_line_is_refused() {
        assert!(check_one_line("cmd", "a b\tc").is_ok());
        for end in ENDS {
            let error = check_one_line("cmd", &format!("a{end}b")).unwrap_err();
            assert!(error.to_string().starts_with("cmd is one line"), "{error}");
        }
    }
}
