//! Constructs that start with a parenthesis: groups, their names, flags and
//! conditions.

use std::fmt::Write;

use super::translate::{Group, Open, Translator};
use crate::TargetError;

impl Translator<'_> {
    pub(super) fn group(&mut self, at: usize) -> Result<(), TargetError> {
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
    pub(super) fn global_flags(&mut self) -> Result<(), TargetError> {
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
