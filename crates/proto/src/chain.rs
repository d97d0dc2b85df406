//! An error with its causes, as logs and screens show it.

use std::error::Error;

/// The error and all its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the inner one")]
    struct Inner;

    #[derive(Debug, thiserror::Error)]
    #[error("the outer one")]
    struct Outer(#[source] Inner);

    #[test]
    fn causes_follow_from_the_outside_in() {
        assert_eq!(chain(&Inner), "the inner one");
        assert_eq!(chain(&Outer(Inner)), "the outer one: the inner one");
    }
}
