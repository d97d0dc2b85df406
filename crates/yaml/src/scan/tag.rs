//! Directives, anchors, aliases and tags.

use super::Scanner;
use super::cursor::{Mark, is_blankz, is_word};
use super::token::{Fault, TagParts, Token, TokenKind};

const DIRECTIVE: &str = "while scanning a directive";
const VERSION: &str = "while scanning a %YAML directive";
const TAG_DIRECTIVE: &str = "while scanning a %TAG directive";
const TAG: &str = "while scanning a tag";

/// Most digits of a version number.
const VERSION_DIGITS_MAX: usize = 9;

impl Scanner<'_> {
    fn fault<T>(
        &self,
        context: &'static str,
        start: Mark,
        problem: &'static str,
    ) -> Result<T, Fault> {
        Err(Fault::scanner(problem, self.cursor.mark()).while_reading(context, start))
    }

    fn read_word(&mut self) -> String {
        let mut word = String::new();
        while is_word(self.cursor.first()) {
            self.cursor.read(&mut word);
        }
        word
    }

    pub(super) fn scan_directive(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        self.cursor.skip();
        let name = self.read_word();
        if name.is_empty() {
            let problem = "could not find expected directive name";
            return self.fault(DIRECTIVE, start, problem);
        }
        if !self.cursor.at_blankz() {
            let problem = "found unexpected non-alphabetical character";
            return self.fault(DIRECTIVE, start, problem);
        }
        let kind = match name.as_str() {
            "YAML" => self.version_directive(start)?,
            "TAG" => self.tag_directive(start)?,
            _ => return self.fault(DIRECTIVE, start, "found unknown directive name"),
        };
        let end = self.cursor.mark();
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.at_breakz() {
            let problem = "did not find expected comment or line break";
            return self.fault(DIRECTIVE, start, problem);
        }
        self.cursor.skip_break();
        Ok(Token { kind, start, end })
    }

    fn version_directive(&mut self, start: Mark) -> Result<TokenKind, Fault> {
        self.cursor.skip_blanks();
        let major = self.version_number(start)?;
        if !self.cursor.at('.') {
            let problem = "did not find expected digit or '.' character";
            return self.fault(VERSION, start, problem);
        }
        self.cursor.skip();
        let minor = self.version_number(start)?;
        Ok(TokenKind::Version { major, minor })
    }

    fn version_number(&mut self, start: Mark) -> Result<u32, Fault> {
        let mut number = 0;
        let mut digits = 0;
        while let Some(digit) = self.cursor.first().to_digit(10) {
            digits += 1;
            if digits > VERSION_DIGITS_MAX {
                return self.fault(VERSION, start, "found extremely long version number");
            }
            number = number * 10 + digit;
            self.cursor.skip();
        }
        if digits == 0 {
            return self.fault(VERSION, start, "did not find expected version number");
        }
        Ok(number)
    }

    fn tag_directive(&mut self, start: Mark) -> Result<TokenKind, Fault> {
        self.cursor.skip_blanks();
        let handle = self.tag_handle(true, start)?;
        if !self.cursor.at_blank() {
            return self.fault(TAG_DIRECTIVE, start, "did not find expected whitespace");
        }
        self.cursor.skip_blanks();
        let prefix = self.tag_uri(Uri::Directive, "", start)?;
        if !self.cursor.at_blankz() {
            let problem = "did not find expected whitespace or line break";
            return self.fault(TAG_DIRECTIVE, start, problem);
        }
        let parts = TagParts {
            handle,
            rest: prefix,
        };
        Ok(TokenKind::TagDirective(Box::new(parts)))
    }

    /// `&name` or `*name`.
    pub(super) fn scan_word(&mut self, alias: bool) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        self.cursor.skip();
        let name = self.read_word();
        let end = self.cursor.mark();
        let next = self.cursor.first();
        let ended =
            is_blankz(next) || matches!(next, '?' | ':' | ',' | ']' | '}' | '%' | '@' | '`');
        if name.is_empty() || !ended {
            let context = if alias {
                "while scanning an alias"
            } else {
                "while scanning an anchor"
            };
            let problem = "did not find expected alphabetic or numeric character";
            return self.fault(context, start, problem);
        }
        let kind = if alias {
            TokenKind::Alias(name)
        } else {
            TokenKind::Anchor(name)
        };
        Ok(Token { kind, start, end })
    }

    /// `!local`, `!!int`, `!handle!suffix`, `!<uri>` or `!`.
    pub(super) fn scan_tag(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        let (handle, suffix) = if self.cursor.peek(1) == '<' {
            self.cursor.skip_many(2);
            let suffix = self.tag_uri(Uri::Verbatim, "", start)?;
            if !self.cursor.at('>') {
                return self.fault(TAG, start, "did not find the expected '>'");
            }
            self.cursor.skip();
            (String::new(), suffix)
        } else {
            let handle = self.tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.tag_uri(Uri::Suffix, "", start)?;
                (handle, suffix)
            } else {
                match self.tag_uri(Uri::Suffix, &handle, start)? {
                    suffix if suffix.is_empty() => (suffix, "!".to_owned()),
                    suffix => ("!".to_owned(), suffix),
                }
            }
        };
        let ended = self.cursor.at_blankz() || (self.in_flow() && self.cursor.at(','));
        if !ended {
            let problem = "did not find expected whitespace or line break";
            return self.fault(TAG, start, problem);
        }
        let parts = TagParts {
            handle,
            rest: suffix,
        };
        let kind = TokenKind::Tag(Box::new(parts));
        let end = self.cursor.mark();
        Ok(Token { kind, start, end })
    }

    fn tag_handle(&mut self, directive: bool, start: Mark) -> Result<String, Fault> {
        if !self.cursor.at('!') {
            let context = if directive {
                "while scanning a tag directive"
            } else {
                TAG
            };
            return self.fault(context, start, "did not find expected '!'");
        }
        let mut handle = String::new();
        self.cursor.read(&mut handle);
        handle.push_str(&self.read_word());
        if self.cursor.at('!') {
            self.cursor.read(&mut handle);
        } else if directive && handle != "!" {
            let context = "while parsing a tag directive";
            return self.fault(context, start, "did not find expected '!'");
        }
        Ok(handle)
    }

    /// The text of a tag behind `head`, whose first character does not count.
    fn tag_uri(&mut self, uri: Uri, head: &str, start: Mark) -> Result<String, Fault> {
        let mut text = head.get(1..).unwrap_or_default().to_owned();
        let mut found = !head.is_empty();
        while uri.allows(self.cursor.first()) {
            if self.cursor.at('%') {
                text.push(self.uri_escape(uri, start)?);
            } else {
                self.cursor.read(&mut text);
            }
            found = true;
        }
        if !found {
            return self.fault(uri.context(), start, "did not find expected tag URI");
        }
        Ok(text)
    }

    /// One character written as its bytes, `%C5%BE`.
    fn uri_escape(&mut self, uri: Uri, start: Mark) -> Result<char, Fault> {
        let mut bytes = Vec::new();
        let mut width = 1;
        while bytes.len() < width {
            let digit = |at| self.cursor.peek(at).to_digit(16);
            let octet = match (self.cursor.first(), digit(1), digit(2)) {
                ('%', Some(high), Some(low)) => u8::try_from(high << 4 | low).unwrap_or(0),
                _ => return self.fault(uri.context(), start, "did not find URI escaped octet"),
            };
            if bytes.is_empty() {
                width = match octet {
                    0x00..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => {
                        let problem = "found an incorrect leading UTF-8 octet";
                        return self.fault(uri.context(), start, problem);
                    }
                };
            }
            bytes.push(octet);
            self.cursor.skip_many(3);
        }
        match std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| text.chars().next())
        {
            Some(c) => Ok(c),
            None => {
                let problem = "found an incorrect trailing UTF-8 octet";
                self.fault(uri.context(), start, problem)
            }
        }
    }
}

/// Where a tag's text stands, which tells what it may hold.
#[derive(Clone, Copy, PartialEq)]
enum Uri {
    Directive,
    Verbatim,
    Suffix,
}

impl Uri {
    fn allows(self, c: char) -> bool {
        match c {
            ';' | '/' | '?' | ':' | '@' | '&' | '=' | '+' | '$' | '.' | '%' | '!' | '~' | '*'
            | '\'' | '(' | ')' => true,
            ',' | '[' | ']' => self != Self::Suffix,
            c => is_word(c),
        }
    }

    fn context(self) -> &'static str {
        match self {
            Self::Directive => "while parsing a %TAG directive",
            Self::Verbatim | Self::Suffix => "while parsing a tag",
        }
    }
}
