//! A query's text to tokens.

use halite_proto::{Value, json};

use super::{QueryError, Syntax};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Quoted(String),
    Literal(Value),
    Number(i64),
    /// Everything that is always written the same.
    Sign(&'static str),
    End,
}

impl Token {
    /// How tightly it binds what is left of it.
    pub(super) fn power(&self) -> u32 {
        match self {
            Self::Sign("|") => 1,
            Self::Sign("||") => 2,
            Self::Sign("&&") => 3,
            Self::Sign("==" | "!=" | "<" | "<=" | ">" | ">=") => 5,
            Self::Sign("[]") => 9,
            Self::Sign("*") => 20,
            Self::Sign("[?") => 21,
            Self::Sign(".") => 40,
            Self::Sign("!") => 45,
            Self::Sign("{") => 50,
            Self::Sign("[") => 55,
            Self::Sign("(") => 60,
            _ => 0,
        }
    }
}

const SIGNS: &[&str] = &[
    "[?", "[]", "||", "&&", "==", "!=", "<=", ">=", "[", "]", "|", "&", "<", ">", "!", ".", "*",
    ",", ":", "@", "{", "}", "(", ")",
];

/// The tokens of a query with their columns.
pub(super) fn lex(query: &str) -> Result<Vec<(Token, usize)>, QueryError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let column = |at: usize| query.get(..at).map_or(0, |before| before.chars().count());
    let wrong = |at: usize, message: &str| QueryError::Syntax {
        kind: Syntax::Lexer,
        message: message.to_owned(),
        column: column(at),
        query: query.to_owned(),
    };
    while let Some(rest) = query.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        let start = at;
        let token = match first {
            ' ' | '\t' | '\n' | '\r' => {
                at += 1;
                continue;
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let name = take(rest, |c| c.is_ascii_alphanumeric() || c == '_');
                at += name.len();
                Token::Name(name.to_owned())
            }
            c if c.is_ascii_digit() || c == '-' => {
                let digits = take(rest.get(1..).unwrap_or_default(), |c| c.is_ascii_digit());
                let text = &rest[..=digits.len()];
                at += text.len();
                Token::Number(text.parse().map_err(|_| wrong(start, "Bad number"))?)
            }
            quote @ ('"' | '\'' | '`') => {
                let inside = quoted(rest, quote)
                    .ok_or_else(|| wrong(start, &format!("Unclosed {quote} delimiter")))?;
                at += inside.len() + 2;
                match quote {
                    '"' => {
                        let json = json::read(&format!("\"{inside}\""));
                        match json {
                            Ok(Value::Str(text)) => Token::Quoted(text),
                            _ => return Err(wrong(start, "error decoding string")),
                        }
                    }
                    '\'' => Token::Literal(inside.replace("\\'", "'").into()),
                    _ => literal(inside).ok_or_else(|| wrong(start, "Bad token"))?,
                }
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let sign = sign.ok_or_else(|| wrong(start, &format!("Unknown token {first}")))?;
                at += sign.len();
                Token::Sign(sign)
            }
        };
        tokens.push((token, column(start)));
    }
    tokens.push((Token::End, column(query.len())));
    Ok(tokens)
}

fn take(text: &str, good: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !good(c)).unwrap_or(text.len());
    &text[..end]
}

/// What is between the quote at the start and the next one that no backslash
/// hides.
fn quoted(text: &str, quote: char) -> Option<&str> {
    let mut hidden = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            c if c == quote => return text.get(1..at),
            _ => {}
        }
    }
    None
}

/// JSON, or text that lacks its quotes.
fn literal(inside: &str) -> Option<Token> {
    let text = inside.replace("\\`", "`");
    let text = text.trim_start();
    json::read(text)
        .or_else(|_| json::read(&format!("\"{text}\"")))
        .map(Token::Literal)
        .ok()
}
