//! The content of a tag: names, literals, operators, up to the tag's end.

use std::sync::Arc;

use halite_proto::python;

use super::token::{Token, TokenKind};
use crate::error::{Error, ErrorKind, Result};
use crate::source::{Source, Span};

/// Where a tag ended.
pub(crate) struct Ended {
    /// After its end.
    pub(crate) at: usize,
    /// Where its end stands.
    pub(crate) end: usize,
    /// The whitespace sign of its end.
    pub(crate) sign: Option<char>,
}

/// Longer ones first.
const OPERATORS: [&str; 28] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";", "!", "&",
];

/// Reads tokens up to `close`; without one, up to the end of the line.
pub(crate) fn tokens(
    source: &Arc<Source>,
    start: usize,
    close: Option<&str>,
    variable: bool,
    out: &mut Vec<Token>,
) -> Result<Ended> {
    let text = source.text();
    let mut at = start;
    let mut open: Vec<&'static str> = Vec::new();
    let fail = |at: usize, message: String| {
        Error::new(ErrorKind::Syntax, message).at(source, Span::at(at))
    };
    // Jinja2 counts characters.
    let unexpected = |at: usize, c: char| {
        let shown = python::str_repr(&c.to_string());
        let place = text[..at].chars().count();
        fail(at, format!("unexpected char {shown} at {place}"))
    };
    loop {
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else {
            if close.is_none() && open.is_empty() {
                return Ok(Ended {
                    at,
                    end: at,
                    sign: None,
                });
            }
            return Err(Error::new(
                ErrorKind::Syntax,
                "unexpected end of template: the tag is not closed",
            ));
        };
        if open.is_empty()
            && let Some(ended) = tag_end(text, at, close, variable)
        {
            return Ok(ended);
        }
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let span = Span::at(at);
        let (kind, length) = if first.is_ascii_digit() {
            number(rest, out.last()).map_err(|message| fail(at, message))?
        } else if first == '_' || first.is_alphabetic() {
            let end = rest
                .find(|c: char| c != '_' && !c.is_alphanumeric())
                .unwrap_or(rest.len());
            (TokenKind::Name(rest[..end].into()), end)
        } else if first == '\'' || first == '"' {
            string(rest, first).map_err(|message| match message {
                Some(message) => fail(at, message),
                None => unexpected(at, first),
            })?
        } else if let Some(op) = OPERATORS.iter().find(|op| rest.starts_with(**op)) {
            match *op {
                "!" | "&" => return Err(unexpected(at, first)),
                "(" | "[" | "{" => open.push(op),
                ")" | "]" | "}" => {
                    check_closing(open.pop(), op).map_err(|message| fail(at, message))?;
                }
                _ => {}
            }
            (TokenKind::Op(op), op.len())
        } else {
            return Err(unexpected(at, first));
        };
        out.push(Token { span, kind });
        at += length;
    }
}

/// Checks that a closing bracket belongs to the last opened one.
fn check_closing(opened: Option<&str>, closing: &str) -> std::result::Result<(), String> {
    let expected = match opened {
        Some("(") => ")",
        Some("[") => "]",
        Some(_) => "}",
        None => return Err(format!("unexpected '{closing}'")),
    };
    match expected == closing {
        true => Ok(()),
        false => Err(format!("unexpected '{closing}', expected '{expected}'")),
    }
}

fn tag_end(text: &str, at: usize, close: Option<&str>, variable: bool) -> Option<Ended> {
    let rest = &text[at..];
    let Some(close) = close else {
        let blanks = rest.len() - rest.trim_start().len();
        let newline = rest[..blanks].rfind('\n')?;
        return Some(Ended {
            at: at + newline + 1,
            end: at,
            sign: None,
        });
    };
    let signs: &[char] = if variable { &['-'] } else { &['-', '+'] };
    let sign = rest.chars().next().filter(|c| signs.contains(c));
    let body = &rest[sign.map_or(0, char::len_utf8)..];
    let after = body.strip_prefix(close)?;
    Some(Ended {
        at: text.len() - after.len(),
        end: at,
        sign,
    })
}

/// A number, and how many bytes it takes.
fn number(text: &str, previous: Option<&Token>) -> Result<(TokenKind, usize), String> {
    let bytes = text.as_bytes();
    let radix = match bytes.get(..2) {
        Some(b"0x" | b"0X") => 16,
        Some(b"0o" | b"0O") => 8,
        Some(b"0b" | b"0B") => 2,
        _ => 10,
    };
    if radix != 10 {
        let end = digits(bytes, 2, radix);
        if end > 2 {
            let plain = text[2..end].replace('_', "");
            let value = i128::from_str_radix(&plain, radix)
                .map_err(|_| format!("integer {} is beyond 128 bits", &text[..end]))?;
            return Ok((TokenKind::Int(value), end));
        }
    }
    let mut end = digits(bytes, 0, 10);
    // `a.0.1` is two subscripts, not a fraction.
    let after_dot = previous.is_some_and(|token| token.kind.is_op("."));
    let mut float = false;
    if !after_dot {
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            end = digits(bytes, end + 1, 10);
            float = true;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
                end = digits(bytes, end + 1 + sign, 10);
                float = true;
            }
        }
    }
    let plain = text[..end].replace('_', "");
    if float {
        let value = plain.parse().map_err(|_| format!("bad number {plain}"))?;
        return Ok((TokenKind::Float(value), end));
    }
    if plain.len() > 1 && plain.starts_with('0') && plain.bytes().any(|byte| byte != b'0') {
        // Jinja2 reads the zero as a number of its own.
        return Ok((TokenKind::Int(0), 1));
    }
    let value = plain
        .parse()
        .map_err(|_| format!("integer {plain} is beyond 128 bits"))?;
    Ok((TokenKind::Int(value), end))
}

fn digits(bytes: &[u8], start: usize, radix: u32) -> usize {
    let mut end = start;
    let mut last_digit = start > 0 && radix != 10;
    while let Some(byte) = bytes.get(end) {
        if char::from(*byte).is_digit(radix) {
            last_digit = true;
        } else if *byte == b'_'
            && last_digit
            && bytes
                .get(end + 1)
                .is_some_and(|next| char::from(*next).is_digit(radix))
        {
            last_digit = false;
        } else {
            break;
        }
        end += 1;
    }
    end
}

/// A quoted text with Python's escapes, and how many bytes it takes.
fn string(text: &str, quote: char) -> Result<(TokenKind, usize), Option<String>> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Ok((TokenKind::Text(out.into()), at + 1));
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some((_, escape)) = chars.next() else {
            break;
        };
        let wide = match escape {
            '\n' => continue,
            '\\' | '\'' | '"' => {
                out.push(escape);
                continue;
            }
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0'..='7' => {
                let mut code = escape.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let next = chars.clone().next().and_then(|(_, c)| c.to_digit(8));
                    let Some(digit) = next else { break };
                    code = code * 8 + digit;
                    chars.next();
                }
                char::from_u32(code).unwrap_or_default()
            }
            'x' | 'u' | 'U' => {
                let length = match escape {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let mut code = 0_u32;
                for _ in 0..length {
                    let digit = chars.next().and_then(|(_, c)| c.to_digit(16));
                    let Some(digit) = digit else {
                        return Err(Some(format!("truncated \\{escape} escape")));
                    };
                    code = code.wrapping_mul(16).wrapping_add(digit);
                }
                char::from_u32(code)
                    .ok_or_else(|| Some(format!("illegal character \\{escape}{code:x}")))?
            }
            other => {
                out.push('\\');
                other
            }
        };
        out.push(wide);
    }
    Err(None)
}
