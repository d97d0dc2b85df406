//! Character sets and escaped characters of Python's regular expressions.
//!
//! In Python only `\`, `-`, `^` at the start and `]` are special in a set; the
//! engine also knows nested sets and set operators, so all else is escaped.

use super::translate::{Cursor, push_literal};
use crate::TargetError;

/// One member of a set: a character, or a class such as `\d`.
enum Member {
    Char(char),
    Class(char),
}

/// The set whose opening bracket was at `start` and has been read.
pub(super) fn translate(input: &mut Cursor<'_>, start: usize) -> Result<String, TargetError> {
    let mut out = String::from("[");
    if input.eat("^") {
        out.push('^');
    }
    let unterminated = || TargetError::new(start, "unterminated character set");
    let mut first = true;
    loop {
        let (at, c) = input.next().ok_or_else(unterminated)?;
        if c == ']' && !first {
            out.push(']');
            return Ok(out);
        }
        first = false;
        let low = member(input, at, c)?;
        let range = input.rest().starts_with('-');
        if range && input.rest().len() == 1 {
            return Err(unterminated());
        }
        if !range || input.rest().starts_with("-]") {
            push_member(&mut out, &low);
            continue;
        }
        input.eat("-");
        let (high_at, c) = input.next().ok_or_else(unterminated)?;
        match (low, member(input, high_at, c)?) {
            (Member::Char(low), Member::Char(high)) if low <= high => {
                push_literal(&mut out, low);
                out.push('-');
                push_literal(&mut out, high);
            }
            (low, high) => {
                let mut message = String::from("bad character range ");
                push_shown(&mut message, &low);
                message.push('-');
                push_shown(&mut message, &high);
                return Err(TargetError::new(at, message));
            }
        }
    }
}

/// The character that the escape `\c` at `at` stands for.
pub(super) fn escaped(input: &mut Cursor<'_>, at: usize, c: char) -> Result<char, TargetError> {
    let hex = |c: char| c.is_ascii_hexdigit();
    let code = |digits: &str, wanted: usize| {
        u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| digits.len() == wanted)
            .and_then(char::from_u32)
            .ok_or_else(|| TargetError::new(at, format!("incomplete escape \\{c}{digits}")))
    };
    match c {
        'a' => Ok('\x07'),
        'f' => Ok('\x0c'),
        'n' => Ok('\n'),
        'r' => Ok('\r'),
        't' => Ok('\t'),
        'v' => Ok('\x0b'),
        'x' => code(input.run(2, hex), 2),
        'u' => code(input.run(4, hex), 4),
        'U' => code(input.run(8, hex), 8),
        'N' => Err(TargetError::new(at, "\\N{...} is not supported")),
        '0' => {
            let digits = input.run(2, |c| c.is_digit(8));
            octal(&format!("0{digits}"), at)
        }
        c if c.is_ascii_alphabetic() => Err(TargetError::new(at, format!("bad escape \\{c}"))),
        c => Ok(c),
    }
}

/// The character with this octal code.
pub(super) fn octal(digits: &str, at: usize) -> Result<char, TargetError> {
    u32::from_str_radix(digits, 8)
        .ok()
        .filter(|code| *code <= 0o377)
        .and_then(char::from_u32)
        .ok_or_else(|| {
            let message = format!("octal escape value \\{digits} outside of range 0-0o377");
            TargetError::new(at, message)
        })
}

fn member(input: &mut Cursor<'_>, at: usize, c: char) -> Result<Member, TargetError> {
    if c != '\\' {
        return Ok(Member::Char(c));
    }
    let Some((_, c)) = input.next() else {
        return Err(TargetError::new(at, "bad escape (end of pattern)"));
    };
    match c {
        'd' | 'D' | 's' | 'S' | 'w' | 'W' => Ok(Member::Class(c)),
        'b' => Ok(Member::Char('\x08')),
        '1'..='7' => {
            let mut digits = c.to_string();
            digits.push_str(input.run(2, |c| c.is_digit(8)));
            octal(&digits, at).map(Member::Char)
        }
        '8' | '9' => Err(TargetError::new(at, format!("bad escape \\{c}"))),
        _ => escaped(input, at, c).map(Member::Char),
    }
}

fn push_member(out: &mut String, member: &Member) {
    match member {
        Member::Char(c) => push_literal(out, *c),
        Member::Class(class) => {
            out.push('\\');
            out.push(*class);
        }
    }
}

fn push_shown(out: &mut String, member: &Member) {
    match member {
        Member::Char(c) => out.push(*c),
        Member::Class(class) => {
            out.push('\\');
            out.push(*class);
        }
    }
}
