//! The end of a token before its time: not a command of Salt's, whose masters answer it
//! with an empty map, as every unknown command.
//!
//! Knowing a token is the proof. A master answers a token that it does not know like an
//! unknown command.

use std::fmt;

use crate::fields::{Fields, MessageError};
use crate::{Map, Value};

/// The command.
pub const CMD: &str = "halite.log_out";

/// The field of the answer.
const ENDED: &str = "logged_out";

/// Asks a master to make a token worthless, at its peers too.
#[derive(Clone, PartialEq, Eq)]
pub struct LogOutRequest {
    /// The token.
    pub token: Option<String>,
}

impl LogOutRequest {
    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field has a wrong type.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let token = Fields::new("the logout request", load).text("token")?;
        Ok(Self { token })
    }

    /// The load of the clear envelope that ends a token.
    pub fn load(token: &str) -> Map {
        Map::from([("cmd", CMD), ("token", token)])
    }

    /// The answer as it travels.
    pub fn answer(has_ended: bool) -> Value {
        match has_ended {
            true => Map::from([(ENDED, true)]).into(),
            false => Map::new().into(),
        }
    }

    /// Whether an answer says that the token was ended.
    pub fn has_ended(answer: &Value) -> bool {
        answer.get(ENDED).and_then(Value::as_bool) == Some(true)
    }
}

/// Never shows the token.
impl fmt::Debug for LogOutRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.token.as_ref().map(|_| "hidden");
        f.debug_struct("LogOutRequest")
            .field("token", &hidden)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_and_answer_survive_and_the_token_is_not_shown() {
        let request = LogOutRequest::from_map(LogOutRequest::load("0a1b")).unwrap();
        assert_eq!(request.token.as_deref(), Some("0a1b"));
        assert!(!format!("{request:?}").contains("0a1b"));
        for has_ended in [true, false] {
            let answer = LogOutRequest::answer(has_ended);
            assert_eq!(LogOutRequest::has_ended(&answer), has_ended);
        }
        // What a master of Salt says.
        assert!(!LogOutRequest::has_ended(&Map::new().into()));
    }
}
