//! `'{} {name[0]!r:>8}'.format(...)`.

use halite_proto::python;

use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine, access};
use crate::format;
use crate::source::Str;
use crate::value::{Key, Mapping, Value, repr, text};

struct Fields<'a, 'm> {
    machine: &'a Machine<'m>,
    pos: &'a [Value],
    named: &'a [(Str, Value)],
    map: Option<&'a Value>,
    /// The next field without a name; `None` once one had a number.
    next: Option<usize>,
    numbered: bool,
}

/// `str.format`.
pub(super) fn braces(machine: &Machine<'_>, format: &str, args: &Args) -> Result<String> {
    let mut fields = Fields {
        machine,
        pos: &args.pos,
        named: &args.named,
        map: None,
        next: Some(0),
        numbered: false,
    };
    fields.expand(format, 0)
}

/// `str.format_map`.
pub(super) fn braces_map(machine: &Machine<'_>, format: &str, map: &Value) -> Result<String> {
    let mut fields = Fields {
        machine,
        pos: &[],
        named: &[],
        map: Some(map),
        next: Some(0),
        numbered: false,
    };
    fields.expand(format, 0)
}

impl Fields<'_, '_> {
    fn expand(&mut self, format: &str, depth: u32) -> Result<String> {
        if depth > 2 {
            return Err(Error::of_value("Max string recursion exceeded"));
        }
        let mut out = String::new();
        let mut rest = format;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            let brace = &after[..1];
            if after[1..].starts_with(brace) {
                out.push_str(brace);
                rest = &after[2..];
                continue;
            }
            if brace == "}" {
                return Err(Error::of_value("Single '}' encountered in format string"));
            }
            let body = &after[1..];
            if body.is_empty() {
                return Err(Error::of_value("Single '{' encountered in format string"));
            }
            let end = closing(body)
                .ok_or_else(|| Error::of_value("expected '}' before end of string"))?;
            out.push_str(&self.field(&body[..end], depth)?);
            self.machine.account(out.len() / 64)?;
            rest = &body[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn field(&mut self, field: &str, depth: u32) -> Result<String> {
        let bracket = field.find('[').unwrap_or(field.len());
        let name_end = field
            .find([':', '!'])
            .filter(|at| *at < bracket)
            .or_else(|| {
                let close = field.rfind(']')?;
                field[close..].find([':', '!']).map(|at| at + close)
            })
            .unwrap_or(field.len());
        let (name, rest) = field.split_at(name_end);
        let (conversion, format) = match rest.strip_prefix('!') {
            Some(rest) => {
                let mut chars = rest.chars();
                let conversion = chars.next();
                let rest = chars.as_str();
                if !rest.is_empty() && !rest.starts_with(':') {
                    return Err(Error::of_value("expected ':' after conversion specifier"));
                }
                (conversion, rest.strip_prefix(':').unwrap_or_default())
            }
            None => (None, rest.strip_prefix(':').unwrap_or_default()),
        };
        let mut value = self.lookup(name)?;
        match conversion {
            None => {}
            Some('s') => value = Value::str(text(&value)?),
            Some('r' | 'a') => value = Value::str(repr(&value)?),
            Some(other) => {
                let message = format!("Unknown conversion specifier {other}");
                return Err(Error::of_value(message));
            }
        }
        let format = if format.contains('{') {
            self.expand(format, depth + 1)?
        } else {
            format.to_owned()
        };
        format::apply(&value, &format)
    }

    fn lookup(&mut self, name: &str) -> Result<Value> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut path) = name.split_at(end);
        let mut value = self.root(first)?;
        while !path.is_empty() {
            if let Some(rest) = path.strip_prefix('.') {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                value = access::attribute(self.machine, &value, &rest[..end])?;
                path = &rest[end..];
            } else {
                let rest = &path[1..];
                let end = rest
                    .find(']')
                    .ok_or_else(|| Error::of_value("Missing ']' in format string"))?;
                let item = match rest[..end].parse() {
                    Ok(int) => Value::Int(int),
                    Err(_) => Value::str(&rest[..end]),
                };
                value = access::item(self.machine, &value, &item)?;
                path = &rest[end + 1..];
            }
            if let Some(undefined) = value.as_undefined() {
                return Err(undefined.error());
            }
        }
        Ok(value)
    }

    fn root(&mut self, name: &str) -> Result<Value> {
        let index = if name.is_empty() {
            let Some(next) = self.next else {
                return Err(Error::of_value(
                    "cannot switch from manual field specification to automatic field numbering",
                ));
            };
            self.next = Some(next + 1);
            self.numbered = true;
            next
        } else if let Ok(index) = name.parse() {
            if self.numbered {
                return Err(Error::of_value(
                    "cannot switch from automatic field numbering to manual field specification",
                ));
            }
            self.next = None;
            index
        } else {
            return self.by_name(name);
        };
        self.pos.get(index).cloned().ok_or_else(|| {
            let message =
                format!("Replacement index {index} out of range for positional args tuple");
            Error::new(ErrorKind::Index, message)
        })
    }

    fn by_name(&self, name: &str) -> Result<Value> {
        let found = match self.map {
            Some(Value::Dict(Mapping(cell))) => {
                let key = Key::text(name);
                cell.0.borrow().get(&key).cloned()
            }
            _ => self
                .named
                .iter()
                .find(|(other, _)| &**other == name)
                .map(|(_, value)| value.clone()),
        };
        found.ok_or_else(|| Error::new(ErrorKind::Key, python::str_repr(name)))
    }
}

fn closing(body: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
