//! Reading the notation of signatures: names, literals, punctuation.

use halite_proto::{Map, Value};

use super::{SignatureError, default_shell};

pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.text.len()
    }

    fn rest(&mut self) -> &str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    pub(super) fn sees(&mut self, token: &str) -> bool {
        self.rest().starts_with(token)
    }

    pub(super) fn take(&mut self, token: &str) -> bool {
        let seen = self.sees(token);
        if seen {
            self.at += token.len();
        }
        seen
    }

    pub(super) fn expect(&mut self, token: &str) -> Result<(), SignatureError> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.error("a parenthesis or comma is missing"))
        }
    }

    pub(super) fn name(&mut self) -> Result<String, SignatureError> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let name = rest[..length].to_owned();
        self.at += length;
        if name.is_empty() {
            Err(self.error("a name is missing"))
        } else {
            Ok(name)
        }
    }

    pub(super) fn literal(&mut self) -> Result<Value, SignatureError> {
        let rest = self.rest();
        let (value, length) = match rest.as_bytes().first() {
            Some(b'\'') => {
                let end = rest[1..]
                    .find('\'')
                    .ok_or_else(|| self.error("a quote is open"))?;
                let rest = self.rest();
                (Value::from(&rest[1..=end]), end + 2)
            }
            Some(b'[' | b'(') if matches!(rest.get(1..2), Some("]" | ")")) => {
                (Value::List(Vec::new()), 2)
            }
            Some(b'{') if rest.get(1..2) == Some("}") => (Value::Map(Map::new()), 2),
            _ => {
                let length = rest.find([',', ')']).unwrap_or(rest.len());
                let word = rest[..length].trim();
                let value = match word {
                    "None" => Some(Value::Nil),
                    // What stands for "not given" in Salt, as it is shown.
                    "NOT_SET" => Some(Value::from("<Constant.NOT_SET>")),
                    "True" => Some(Value::Bool(true)),
                    "False" => Some(Value::Bool(false)),
                    // The login shell of the process, as Salt finds it.
                    "SHELL" => Some(Value::Str(default_shell())),
                    number => number
                        .parse()
                        .map(Value::Int)
                        .ok()
                        .or_else(|| number.parse().map(Value::Float).ok()),
                };
                match value {
                    Some(value) => (value, length),
                    None => return Err(self.error("not a literal")),
                }
            }
        };
        self.at += length;
        Ok(value)
    }

    pub(super) fn error(&self, why: &'static str) -> SignatureError {
        SignatureError { at: self.at, why }
    }
}
