//! From Python's regular expressions to the engine's.
//!
//! Every literal leaves here escaped, every group numbered and every flag
//! resolved, so the engine's own extensions cannot be reached by accident.

use std::fmt::Write;

use super::class;
use crate::TargetError;

/// The pattern in the engine's dialect.
pub(super) fn to_engine(pattern: &str) -> Result<String, TargetError> {
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
        None => Ok(translator.out),
    }
}

/// The characters of a pattern with their byte offsets.
pub(super) struct Cursor<'p> {
    text: &'p str,
    at: usize,
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
    fn until(&mut self, end: char) -> Option<&'p str> {
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
struct Flags {
    multi_line: bool,
    verbose: bool,
}

struct Group {
    name: Option<String>,
    closed: bool,
}

struct Open {
    at: usize,
    flags: Flags,
    number: Option<usize>,
}

/// What a quantifier would repeat.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Item,
    Repeat,
}

struct Translator<'p> {
    input: Cursor<'p>,
    out: String,
    flags: Flags,
    groups: Vec<Group>,
    open: Vec<Open>,
    last: Last,
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

    fn assertion(&mut self, text: &str) {
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

    fn reference(&mut self, at: usize, number: usize) -> Result<(), TargetError> {
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

    fn group(&mut self, at: usize) -> Result<(), TargetError> {
        if !self.input.eat("?") {
            return self.capture(at, None);
        }
        for opening in [":", "=", "!", "<=", "<!", ">"] {
            if self.input.eat(opening) {
                self.open(at, None, &format!("(?{opening}"));
                return Ok(());
            }
        }
        let name_at = self.input.at + 2;
        if self.input.eat("P<") {
            let name = self.input.until('>');
            let name = self.checked_name(name_at, name)?;
            if self
                .groups
                .iter()
                .any(|group| group.name.as_ref() == Some(&name))
            {
                let message = format!("redefinition of group name '{name}'");
                return Err(TargetError::new(name_at, message));
            }
            return self.capture(at, Some(name));
        }
        if self.input.eat("P=") {
            let name = self.input.until(')');
            let name = self.checked_name(name_at, name)?;
            let number = self.named(name_at, &name)?;
            return self.reference(name_at, number);
        }
        if self.input.eat("#") {
            return match self.input.until(')') {
                Some(_) => Ok(()),
                None => Err(TargetError::new(at, "missing ), unterminated comment")),
            };
        }
        if self.input.eat("(") {
            return self.conditional(at);
        }
        self.scoped_flags(at)
    }

    fn open(&mut self, at: usize, number: Option<usize>, text: &str) {
        self.open.push(Open {
            at,
            flags: self.flags,
            number,
        });
        self.assertion(text);
    }

    fn capture(&mut self, at: usize, name: Option<String>) -> Result<(), TargetError> {
        let number = self.groups.len();
        self.groups.push(Group {
            name,
            closed: false,
        });
        self.open(at, Some(number), "(");
        Ok(())
    }

    fn checked_name(&self, at: usize, name: Option<&str>) -> Result<String, TargetError> {
        let name = name.ok_or_else(|| TargetError::new(at, "unterminated group name"))?;
        let start = |c: char| c == '_' || c.is_alphabetic();
        let good = name.starts_with(start) && name.chars().all(|c| start(c) || c.is_alphanumeric());
        if good {
            Ok(name.to_owned())
        } else {
            let message = format!("bad character in group name '{name}'");
            Err(TargetError::new(at, message))
        }
    }

    fn named(&self, at: usize, name: &str) -> Result<usize, TargetError> {
        self.groups
            .iter()
            .position(|group| group.name.as_deref() == Some(name))
            .map(|index| index + 1)
            .ok_or_else(|| TargetError::new(at, format!("unknown group name '{name}'")))
    }

    /// `(?(1)yes|no)` and `(?(name)yes|no)`.
    fn conditional(&mut self, at: usize) -> Result<(), TargetError> {
        let name_at = self.input.at;
        let name = self.input.until(')');
        let number = match name.and_then(|name| name.parse::<usize>().ok()) {
            Some(number) if number == 0 || number > self.groups.len() => {
                let message = format!("invalid group reference {number}");
                return Err(TargetError::new(name_at, message));
            }
            Some(number) => number,
            None => {
                let name = self.checked_name(name_at, name)?;
                self.named(name_at, &name)?
            }
        };
        self.open(at, None, &format!("(?({number})"));
        Ok(())
    }

    /// `(?im)` at the very start of the pattern.
    fn global_flags(&mut self) -> Result<(), TargetError> {
        loop {
            let rest = self.input.rest();
            let Some(letters) = rest.strip_prefix("(?") else {
                return Ok(());
            };
            let length = letters.bytes().take_while(u8::is_ascii_lowercase).count();
            if length == 0 || !letters[length..].starts_with(')') {
                return Ok(());
            }
            self.input.eat("(?");
            let on = self.flag_letters(true)?;
            self.input.eat(")");
            if !on.is_empty() {
                let _ = write!(self.out, "(?{on})");
            }
        }
    }

    /// `(?i:...)`, `(?-i:...)` and `(?i-m:...)`.
    fn scoped_flags(&mut self, at: usize) -> Result<(), TargetError> {
        let outer = self.flags;
        let on = self.flag_letters(true)?;
        let mut off = String::new();
        if self.input.eat("-") {
            off = self.flag_letters(false)?;
        }
        if self.input.rest().starts_with(')') {
            let message = "global flags not at the start of the expression";
            return Err(TargetError::new(at, message));
        }
        if !self.input.eat(":") {
            return Err(TargetError::new(at, "unknown extension in a group"));
        }
        let text = match (on.is_empty(), off.is_empty()) {
            (true, true) => "(?:".to_owned(),
            (false, true) => format!("(?{on}:"),
            (_, false) => format!("(?{on}-{off}:"),
        };
        let inner = std::mem::replace(&mut self.flags, outer);
        self.open(at, None, &text);
        self.flags = inner;
        Ok(())
    }

    /// Takes flag letters, sets what concerns the translation and returns
    /// those that concern the engine.
    fn flag_letters(&mut self, on: bool) -> Result<String, TargetError> {
        let mut kept = String::new();
        while let Some(c) = self.input.peek().filter(char::is_ascii_alphabetic) {
            match c {
                'x' => self.flags.verbose = on,
                'u' => {}
                'm' => {
                    self.flags.multi_line = on;
                    kept.push(c);
                }
                'i' | 's' => kept.push(c),
                'a' | 'L' => {
                    let message = format!("the flag {c} of regular expressions is not supported");
                    return Err(TargetError::new(self.input.at, message));
                }
                _ => return Err(TargetError::new(self.input.at, format!("unknown flag {c}"))),
            }
            self.input.next();
        }
        Ok(kept)
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
