//! From Python's regular expressions to the engine's.
//!
//! Every literal leaves here escaped, every group numbered and every flag
//! resolved, so the engine's own extensions cannot be reached by accident.

use std::fmt::Write;

use super::class;
use crate::TargetError;

/// A pattern in the engine's dialect.
pub(super) struct Translated {
    pub(super) pattern: String,
    /// The names that its groups had, in their order.
    pub(super) names: Vec<Option<String>>,
}

/// The pattern in the engine's dialect.
pub(super) fn to_engine(pattern: &str) -> Result<Translated, TargetError> {
    let mut translator = Translator {
        input: Cursor::new(pattern),
        out: String::with_capacity(pattern.len() + 16),
        flags: Flags::default(),
        groups: Vec::new(),
        open: Vec::new(),
        last: Last::Nothing,
    };
    translator.global_flags()?;
    while let Some((at, c)) = translator.input.next() {
        translator.one(at, c)?;
    }
    match translator.open.last() {
        Some(open) => Err(TargetError::new(
            open.at,
            "missing ), unterminated subpattern",
        )),
        None => Ok(Translated {
            pattern: translator.out,
            names: translator
                .groups
                .into_iter()
                .map(|group| group.name)
                .collect(),
        }),
    }
}

/// The characters of a pattern with their byte offsets.
pub(super) struct Cursor<'p> {
    pub(super) text: &'p str,
    pub(super) at: usize,
}

impl<'p> Cursor<'p> {
    fn new(text: &'p str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn next(&mut self) -> Option<(usize, char)> {
        let c = self.peek()?;
        let at = self.at;
        self.at += c.len_utf8();
        Some((at, c))
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn rest(&self) -> &'p str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Takes what comes before `end`, and `end` itself.
    pub(super) fn until(&mut self, end: char) -> Option<&'p str> {
        let (before, _) = self.rest().split_once(end)?;
        self.at += before.len() + end.len_utf8();
        Some(before)
    }

    /// Takes the characters for which `good` holds, at most `max`.
    pub(super) fn run(&mut self, max: usize, good: impl Fn(char) -> bool) -> &'p str {
        let rest = self.rest();
        let length = rest
            .chars()
            .take(max)
            .take_while(|c| good(*c))
            .map(char::len_utf8)
            .sum();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) multi_line: bool,
    pub(super) verbose: bool,
}

pub(super) struct Group {
    pub(super) name: Option<String>,
    pub(super) closed: bool,
}

pub(super) struct Open {
    pub(super) at: usize,
    pub(super) flags: Flags,
    pub(super) number: Option<usize>,
}

/// What a quantifier would repeat.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Last {
    Nothing,
    Item,
    Repeat,
}

pub(super) struct Translator<'p> {
    pub(super) input: Cursor<'p>,
    pub(super) out: String,
    pub(super) flags: Flags,
    pub(super) groups: Vec<Group>,
    pub(super) open: Vec<Open>,
    pub(super) last: Last,
}

impl Translator<'_> {
    fn one(&mut self, at: usize, c: char) -> Result<(), TargetError> {
        match c {
            c if self.flags.verbose && c.is_ascii_whitespace() => {}
            '#' if self.flags.verbose => {
                self.input.run(usize::MAX, |c| c != '\n');
            }
            '^' => self.assertion("^"),
            '$' if self.flags.multi_line => self.assertion("$"),
            '$' => self.assertion(r"(?=\n?\z)"),
            '|' => self.assertion("|"),
            '.' => self.item("."),
            '[' => {
                let set = class::translate(&mut self.input, at)?;
                self.item(&set);
            }
            '(' => return self.group(at),
            ')' => return self.close(at),
            '*' | '+' | '?' => return self.repeat(at, &c.to_string()),
            '{' => return self.braces(at),
            '\\' => return self.escape(at),
            other => {
                push_literal(&mut self.out, other);
                self.last = Last::Item;
            }
        }
        Ok(())
    }

    fn item(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Item;
    }

    pub(super) fn assertion(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Last::Nothing;
    }

    fn repeat(&mut self, at: usize, quantifier: &str) -> Result<(), TargetError> {
        match self.last {
            Last::Nothing => return Err(TargetError::new(at, "nothing to repeat")),
            Last::Repeat => return Err(TargetError::new(at, "multiple repeat")),
            Last::Item => {}
        }
        self.out.push_str(quantifier);
        for suffix in ["?", "+"] {
            if self.input.eat(suffix) {
                self.out.push_str(suffix);
                break;
            }
        }
        self.last = Last::Repeat;
        Ok(())
    }

    /// `{3}`, `{3,}`, `{,3}` and `{3,4}`; any other brace is a literal.
    fn braces(&mut self, at: usize) -> Result<(), TargetError> {
        let rest = self.input.rest();
        let bounds = rest.split_once('}').map(|(inside, _)| inside);
        let Some((inside, low, high)) = bounds.and_then(|inside| {
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
            (!inside.is_empty() && digits(low) && digits(high)).then_some((inside, low, high))
        }) else {
            push_literal(&mut self.out, '{');
            self.last = Last::Item;
            return Ok(());
        };
        const REPEATS_MAX: u32 = 100_000;
        let number = |text: &str, empty| {
            if text.is_empty() {
                return Ok(empty);
            }
            match text.parse() {
                Ok(number) if number <= REPEATS_MAX => Ok(Some(number)),
                _ => Err(TargetError::new(at, "the repetition number is too large")),
            }
        };
        let (low, high) = (number(low, Some(0))?, number(high, None)?);
        if high.is_some() && low > high {
            return Err(TargetError::new(at, "min repeat greater than max repeat"));
        }
        self.input.eat(inside);
        self.input.eat("}");
        let low = low.unwrap_or(0);
        let quantifier = match high {
            Some(high) => format!("{{{low},{high}}}"),
            None => format!("{{{low},}}"),
        };
        self.repeat(at, &quantifier)
    }

    fn escape(&mut self, at: usize) -> Result<(), TargetError> {
        let Some((_, c)) = self.input.next() else {
            return Err(TargetError::new(at, "bad escape (end of pattern)"));
        };
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.item(&format!("\\{c}")),
            'A' | 'b' | 'B' => self.assertion(&format!("\\{c}")),
            'Z' => self.assertion("\\z"),
            '1'..='9' => return self.number_escape(at, c),
            _ => {
                let literal = class::escaped(&mut self.input, at, c)?;
                push_literal(&mut self.out, literal);
                self.last = Last::Item;
            }
        }
        Ok(())
    }

    /// A reference to a group, or three octal digits.
    fn number_escape(&mut self, at: usize, first: char) -> Result<(), TargetError> {
        let octal = |c: char| c.is_digit(8);
        let mut ahead = self.input.rest().chars();
        if let (Some(second), Some(third)) = (ahead.next(), ahead.next())
            && octal(first)
            && octal(second)
            && octal(third)
        {
            self.input.run(2, octal);
            let digits: String = [first, second, third].iter().collect();
            let literal = class::octal(&digits, at)?;
            push_literal(&mut self.out, literal);
            self.last = Last::Item;
            return Ok(());
        }
        let mut number = first.to_string();
        number.push_str(self.input.run(1, |c| c.is_ascii_digit()));
        let number: usize = number.parse().unwrap_or(usize::MAX);
        self.reference(at, number)
    }

    pub(super) fn reference(&mut self, at: usize, number: usize) -> Result<(), TargetError> {
        match number.checked_sub(1).and_then(|at| self.groups.get(at)) {
            Some(group) if group.closed => {
                self.item(&format!("(?:\\{number})"));
                Ok(())
            }
            Some(_) => Err(TargetError::new(at, "cannot refer to an open group")),
            None => Err(TargetError::new(
                at,
                format!("invalid group reference {number}"),
            )),
        }
    }

    fn close(&mut self, at: usize) -> Result<(), TargetError> {
        let Some(open) = self.open.pop() else {
            return Err(TargetError::new(at, "unbalanced parenthesis"));
        };
        if let Some(group) = open.number.and_then(|at| self.groups.get_mut(at)) {
            group.closed = true;
        }
        self.flags = open.flags;
        self.item(")");
        Ok(())
    }
}

/// Appends a character that stands for itself.
pub(super) fn push_literal(out: &mut String, c: char) {
    match c {
        c if c.is_alphanumeric() => out.push(c),
        '_' | ' ' | ',' | ':' | ';' | '/' | '@' | '%' | '"' | '\'' => out.push(c),
        c if c.is_ascii_graphic() && !matches!(c, '<' | '>' | '!' | '=' | '`') => {
            out.push('\\');
            out.push(c);
        }
        c => {
            let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
        }
    }
}
