//! Queries in JMESPath, as the Python library of that name answers them.

mod evaluate;
mod functions;
mod lexer;
mod parser;

use halite_proto::Value;
use thiserror::Error;

use crate::limits::QUERY_CHARS_MAX;

/// A query that does not parse, or that does not fit its data.
#[derive(Debug, Error)]
pub(crate) enum QueryError {
    /// The text is no query.
    #[error("{}", syntax(*.kind, .message, *.column, .query))]
    Syntax {
        /// In which way.
        kind: Syntax,
        /// What is wrong.
        message: String,
        /// Where, from 0.
        column: usize,
        /// The query.
        query: String,
    },
    /// There is no query.
    #[error("Invalid JMESPath expression: cannot be empty.")]
    Empty,
    /// A function that does not exist.
    #[error("Unknown function: {0}()")]
    UnknownFunction(String),
    /// A function with too many or too few arguments.
    #[error("Expected {expected} argument{} for function {name}(), received {received}", if *expected == 1 { "" } else { "s" })]
    Arity {
        /// The function.
        name: &'static str,
        /// What it takes.
        expected: usize,
        /// What it got.
        received: usize,
    },
    /// A function with a value of the wrong kind.
    #[error(
        "In function {name}(), invalid type for value: {value}, expected one of: {expected}, received: \"{received}\""
    )]
    Type {
        /// The function.
        name: &'static str,
        /// The value, as Python shows it.
        value: String,
        /// The kinds that it takes.
        expected: String,
        /// The kind that it got.
        received: &'static str,
    },
    /// Anything else.
    #[error("{0}")]
    Value(&'static str),
}

/// In which way a text is no query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// Characters that make no token.
    Lexer,
    /// It ends too early.
    Incomplete,
    /// A token in the wrong place.
    Parser,
}

/// The words of the Python library.
fn syntax(kind: Syntax, message: &str, column: usize, query: &str) -> String {
    let blanks = " ".repeat(column);
    match kind {
        Syntax::Lexer => format!("Bad jmespath expression: {message}:\n{query}\n{blanks}^"),
        Syntax::Incomplete => {
            format!("Invalid jmespath expression: Incomplete expression:\n\"{query}\"\n {blanks}^")
        }
        Syntax::Parser => format!(
            "Invalid jmespath expression: Parse error at column {column}, token {message}, for \
             expression:\n\"{query}\"\n {blanks}^"
        ),
    }
}

/// What `query` finds in `data`.
pub(crate) fn search(query: &str, data: &Value) -> Result<Value, QueryError> {
    if query.chars().count() > QUERY_CHARS_MAX {
        return Err(QueryError::Value("the query is too long"));
    }
    if query.is_empty() {
        return Err(QueryError::Empty);
    }
    let ast = parser::parse(query)?;
    evaluate::evaluate(&ast, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, data: &str) -> String {
        let data = halite_proto::json::read(data).unwrap();
        match search(query, &data) {
            Ok(value) => halite_proto::json::write(&value, Default::default()).unwrap(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn queries_project_and_filter() {
        let data = r#"{"s": [{"n": "http", "p": 80}, {"n": "ssh", "p": 22, "t": [1, [2]]}], "m": {"a": {"x": 1}, "b": {"x": 2}}}"#;
        for (query, wanted) in [
            ("s[].p", "[80, 22]"),
            ("s[*].n | [0]", "\"http\""),
            ("s[?p < `50`].n", "[\"ssh\"]"),
            ("s[-1].t[]", "[1, 2]"),
            ("s[::-1].n", "[\"ssh\", \"http\"]"),
            ("m.*.x", "[1, 2]"),
            ("s[*].[n, p]", "[[\"http\", 80], [\"ssh\", 22]]"),
            (
                "s[0].{name: n, \"port\": p}",
                "{\"name\": \"http\", \"port\": 80}",
            ),
            ("sort_by(s, &p)[0].n", "\"ssh\""),
            ("length(s) && 'yes' || 'no'", "\"yes\""),
            ("!contains(s[*].n, 'ssh')", "false"),
            ("nothing.at.all", "null"),
            ("to_string(m.a)", "\"{\\\"x\\\":1}\""),
            ("@.s[?n == 'ssh' && p != `1`] | length(@)", "1"),
            ("max_by(s, &p).n", "\"http\""),
            ("map(&p, s)", "[80, 22]"),
        ] {
            assert_eq!(found(query, data), wanted, "{query}");
        }
    }

    #[test]
    fn wrong_queries_are_errors() {
        assert!(found("a[", "{}").starts_with("Invalid jmespath expression: "));
        assert_eq!(found("nope(@)", "{}"), "Unknown function: nope()");
        assert!(found("abs('x')", "{}").contains("received: \"string\""));
        assert!(found(&"(".repeat(5000), "{}").starts_with("Invalid jmespath"));
    }
}
