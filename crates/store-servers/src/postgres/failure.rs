//! Errors of the driver.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::error::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let Some(said) = error.as_db_error() else {
            // Without words of the server it is the connection, or a row that
            // is not what it should be.
            let is_answer = !error.is_closed() && is_conversion(&error);
            return match is_answer {
                true => Self::Answer(error.to_string()),
                false => Self::broken(error),
            };
        };
        // Its details and hints have values of rows in them.
        let text = format!(
            "{}: {} ({})",
            said.severity(),
            said.message(),
            said.code().code()
        );
        match is_leaving(said.code()) {
            true => Self::broken(text),
            false => Self::Refused(text),
        }
    }
}

/// Whether the server ends the connection, cannot serve now, or is not what it
/// was when the connection was made.
fn is_leaving(code: &SqlState) -> bool {
    let class = code.code().get(..2);
    // 08: connection exceptions, 57P: operator intervention.
    class == Some("08") || code.code().starts_with("57P")
        // Who connects anew finds out which tables there are.
        || *code == SqlState::UNDEFINED_TABLE
}

fn is_conversion(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("error deserializing") || text.starts_with("error serializing")
}
