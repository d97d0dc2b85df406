//! Answers of functions: the success, and a comment.

use halite_call::CallError;
use halite_proto::{Map, Value};

/// Most functions answer whether it went well, and say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) ok: bool,
    pub(crate) comment: String,
}

impl Answer {
    pub(crate) fn yes(comment: impl Into<String>) -> Self {
        Self {
            ok: true,
            comment: comment.into(),
        }
    }

    pub(crate) fn no(comment: impl Into<String>) -> Self {
        Self {
            ok: false,
            comment: comment.into(),
        }
    }
}

impl From<Answer> for Value {
    fn from(answer: Answer) -> Self {
        Map::from([
            ("comment", Self::from(answer.comment)),
            ("result", answer.ok.into()),
        ])
        .into()
    }
}

pub(super) type Answered = Result<Answer, CallError>;

/// Whether chain and rule are named, else the answer that says what is not.
pub(super) fn named(chain: &str, rule: &str) -> Option<Answer> {
    if chain.is_empty() {
        Some(Answer::no("Chain needs to be specified"))
    } else if rule.is_empty() {
        Some(Answer::no("Rule needs to be specified"))
    } else {
        None
    }
}
