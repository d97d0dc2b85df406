//! What is wrong with a JSON text, in the words of Python's `json`.

/// What is wrong and where, or nothing if the text is JSON.
pub fn json_error(text: &str) -> Option<JsonError> {
    let mut reader = Reader { text, at: 0 };
    reader.blanks();
    let wrong = reader.value(0).err().or_else(|| {
        reader.blanks();
        (reader.at < text.len()).then_some(("Extra data", reader.at))
    })?;
    let (message, at) = wrong;
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    Some(JsonError {
        message,
        line,
        column: last.chars().count() + 1,
        place: before.chars().count(),
    })
}

/// A JSON text that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: line {line} column {column} (char {place})")]
pub struct JsonError {
    /// What is wrong.
    message: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The character, from 0.
    place: usize,
}

type Step = Result<(), (&'static str, usize)>;

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

/// Lists and maps within one another that are looked into.
const DEPTH_MAX: u32 = 200;

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: u32) -> Step {
        let rest = self.text.get(self.at..).unwrap_or_default();
        match self.peek() {
            _ if depth > DEPTH_MAX => Err(("Nested too deeply", self.at)),
            Some(b'"') => self.string(),
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'0'..=b'9' | b'-') if self.number() => Ok(()),
            _ => {
                const WORDS: &[&str] = &["null", "true", "false", "NaN", "Infinity", "-Infinity"];
                let word = WORDS.iter().find(|word| rest.starts_with(**word));
                self.at += word.ok_or(("Expecting value", self.at))?.len();
                Ok(())
            }
        }
    }

    fn number(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let sign = usize::from(rest.starts_with('-'));
        let count = digits(&rest[sign..]);
        if count == 0 {
            return false;
        }
        let mut end = sign
            + if rest[sign..].starts_with('0') {
                1
            } else {
                count
            };
        if let Some(fraction) = rest[end..].strip_prefix('.')
            && digits(fraction) > 0
        {
            end += 1 + digits(fraction);
        }
        if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let count = digits(&exponent[sign..]);
            if count > 0 {
                end += 1 + sign + count;
            }
        }
        self.at += end;
        true
    }

    fn string(&mut self) -> Step {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(("Unterminated string starting at", start)),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape(start)?,
                Some(0..=0x1f) => return Err(("Invalid control character at", self.at)),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self, start: usize) -> Step {
        match self.text.as_bytes().get(self.at + 1) {
            None => Err(("Unterminated string starting at", start)),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => {
                let hex = self.text.get(self.at + 2..self.at + 6).unwrap_or_default();
                if hex.len() == 4 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    self.at += 6;
                    Ok(())
                } else {
                    Err(("Invalid \\uXXXX escape", self.at + 1))
                }
            }
            Some(_) => Err(("Invalid \\escape", self.at)),
        }
    }

    fn list(&mut self, depth: u32) -> Step {
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.blanks();
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b',') => self.at += 1,
                _ => return Err(("Expecting ',' delimiter", self.at)),
            }
            self.blanks();
        }
    }

    fn map(&mut self, depth: u32) -> Step {
        const NAME: &str = "Expecting property name enclosed in double quotes";
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err((NAME, self.at));
            }
            self.string()?;
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(("Expecting ':' delimiter", self.at));
            }
            self.at += 1;
            self.blanks();
            self.value(depth + 1)?;
            self.blanks();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b',') => self.at += 1,
                _ => return Err(("Expecting ',' delimiter", self.at)),
            }
            self.blanks();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        json_error(text)
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn the_words_are_those_of_python() {
        // From json.loads of CPython 3.11.
        for (text, wanted) in [
            ("", "Expecting value: line 1 column 1 (char 0)"),
            (
                "{",
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            ),
            (
                "{\"a\"}",
                "Expecting ':' delimiter: line 1 column 5 (char 4)",
            ),
            (
                "{\"a\": 1 \"b\"",
                "Expecting ',' delimiter: line 1 column 9 (char 8)",
            ),
            ("[1,\n x]", "Expecting value: line 2 column 2 (char 5)"),
            (
                "\"ab",
                "Unterminated string starting at: line 1 column 1 (char 0)",
            ),
            ("1 2", "Extra data: line 1 column 3 (char 2)"),
            ("\"\\q\"", "Invalid \\escape: line 1 column 2 (char 1)"),
            ("01", "Extra data: line 1 column 2 (char 1)"),
        ] {
            assert_eq!(error(text), wanted, "{text}");
        }
        for text in ["[1.5e3, -0, NaN, {\"a\": []}]", " null ", "\"\\u00e4\""] {
            assert_eq!(error(text), "", "{text}");
        }
    }
}
