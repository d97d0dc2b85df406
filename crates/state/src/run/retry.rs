//! How often a state is tried again, and what its comment says about that.
//!
//! Salt 3008.5, `State.verify_retry_data`: values of the wrong type are
//! replaced by the defaults.

use halite_proto::python;
use halite_proto::{Map, Value};

/// The argument `retry`, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often the function is called at most.
    pub attempts: i64,
    /// The result that ends it.
    pub until: bool,
    /// Seconds between two calls.
    pub interval: u64,
    /// Seconds that are added at random, at most.
    pub splay: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 2,
            until: true,
            interval: 30,
            splay: 0,
        }
    }
}

impl Retry {
    /// Reads the argument.
    pub fn read(value: &Value) -> Self {
        let default = Self::default();
        match value {
            Value::Map(given) => {
                let number = |key: &str| given.get(key).and_then(Value::as_i64);
                let seconds = |key: &str, default| {
                    number(key).map_or(default, |n| u64::try_from(n).unwrap_or(0))
                };
                Self {
                    attempts: number("attempts").unwrap_or(default.attempts),
                    until: given
                        .get("until")
                        .and_then(Value::as_bool)
                        .unwrap_or(default.until),
                    interval: seconds("interval", default.interval),
                    splay: seconds("splay", default.splay),
                }
            }
            Value::Bool(false) => Self {
                attempts: 0,
                ..default
            },
            _ => default,
        }
    }

    /// Whether this result ends the attempts.
    pub fn is_content(&self, result: &Value) -> bool {
        *result == Value::Bool(self.until)
    }

    /// Says in the comment what test mode does not do.
    pub(super) fn announce(&self, record: &mut Map) {
        let comment = record.get("comment").filter(|comment| comment.is_true());
        let comment = comment.map(python::str).unwrap_or_default();
        record.insert("comment", format!("{comment}  {}", self.announcement()));
    }

    fn announcement(&self) -> String {
        format!(
            "The state would be retried every {} seconds (with a splay of up to {} seconds) a maximum of {} times or until a result of {} is returned",
            self.interval,
            self.splay,
            self.attempts,
            python::str(&self.until.into())
        )
    }
}

/// What is said of an attempt that was not the last.
pub(super) fn attempt_comment(number: i64, ret: &Map) -> String {
    let text = |key: &str| ret.get(key).map(python::str).unwrap_or_default();
    format!(
        "Attempt {number}: Returned a result of \"{}\", with the following comment: \"{}\"",
        text("result"),
        text("comment")
    )
}
