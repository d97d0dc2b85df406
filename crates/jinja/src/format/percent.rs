//! `'%s-%03d' % (a, b)`.

use halite_proto::python;

use super::number;
use super::pad::pad;
use crate::error::{Error, ErrorKind, Result};
use crate::escape::escape_html;
use crate::value::{Key, Mapping, Value, float_to_int, repr, text};

/// Width and precision above this are refused.
const WIDTH_MAX: usize = 1_000_000;

/// The `%` of text.
pub(crate) fn percent(format: &Value, argument: &Value) -> Result<Value> {
    let markup = matches!(format, Value::Markup(_));
    let pattern = format.want_str("format")?;
    let single = [argument.clone()];
    let (items, is_tuple): (&[Value], bool) = match argument {
        Value::Tuple(tuple) => (&tuple.0.0, true),
        _ => (&single, false),
    };
    let mut state = Arguments {
        items,
        map: match argument {
            Value::Dict(map) => Some(map),
            _ => None,
        },
        used: 0,
        named: false,
        markup,
    };
    let out = state.expand(pattern)?;
    let leftover = state.used < items.len()
        && !state.named
        && (is_tuple || !matches!(argument, Value::Dict(_) | Value::List(_)));
    if leftover {
        return Err(Error::of_type(
            "not all arguments converted during string formatting",
        ));
    }
    Ok(if markup {
        Value::markup(out)
    } else {
        Value::str(out)
    })
}

struct Arguments<'a> {
    items: &'a [Value],
    map: Option<&'a Mapping>,
    used: usize,
    named: bool,
    markup: bool,
}

#[derive(Default)]
struct Directive {
    left: bool,
    plus: bool,
    blank: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Arguments<'_> {
    fn expand(&mut self, pattern: &str) -> Result<String> {
        let mut out = String::new();
        let mut rest = pattern;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if out.len() > OUTPUT_MAX {
                return Err(Error::long_text());
            }
            let (text, left) = self.directive(rest)?;
            out.push_str(&text);
            rest = left;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn next(&mut self) -> Result<Value> {
        let item = self.items.get(self.used).cloned();
        self.used += 1;
        item.ok_or_else(|| Error::of_type("not enough arguments for format string"))
    }

    fn directive<'p>(&mut self, pattern: &'p str) -> Result<(String, &'p str)> {
        let incomplete = || Error::of_value("incomplete format");
        let mut rest = pattern;
        let mut named = None;
        if let Some(body) = rest.strip_prefix('(') {
            let end = body
                .find(')')
                .ok_or_else(|| Error::of_value("incomplete format key"))?;
            let Some(Mapping(cell)) = self.map else {
                return Err(Error::of_type("format requires a mapping"));
            };
            let name = &body[..end];
            let found = cell.0.borrow().get(&Key::text(name)).cloned();
            named = Some(found.ok_or_else(|| Error::new(ErrorKind::Key, python::str_repr(name)))?);
            self.named = true;
            rest = &body[end + 1..];
        }
        let mut spec = Directive::default();
        loop {
            match rest.chars().next().ok_or_else(incomplete)? {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.blank = true,
                '0' => spec.zero = true,
                '#' => spec.alternate = true,
                _ => break,
            }
            rest = &rest[1..];
        }
        (spec.width, rest) = self.count(rest, &mut spec.left)?;
        if let Some(body) = rest.strip_prefix('.') {
            let (precision, left) = self.count(body, &mut false)?;
            spec.precision = Some(precision);
            rest = left;
        }
        rest = rest.trim_start_matches(['h', 'l', 'L']);
        let kind = rest.chars().next().ok_or_else(incomplete)?;
        rest = &rest[kind.len_utf8()..];
        if kind == '%' {
            return Ok(("%".to_owned(), rest));
        }
        let value = match named {
            Some(value) => value,
            None => self.next()?,
        };
        Ok((self.convert(kind, &value, &spec)?, rest))
    }

    fn count<'p>(&mut self, pattern: &'p str, left: &mut bool) -> Result<(usize, &'p str)> {
        if let Some(rest) = pattern.strip_prefix('*') {
            let Some(count) = self.next()?.as_int() else {
                return Err(Error::of_type("* wants int"));
            };
            *left |= count < 0;
            let count = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
            return Ok((count.min(WIDTH_MAX), rest));
        }
        let end = pattern
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(pattern.len());
        let (digits, rest) = pattern.split_at(end);
        if digits.is_empty() {
            return Ok((0, rest));
        }
        let count = digits.parse().ok().filter(|count| *count <= WIDTH_MAX);
        count
            .map(|count| (count, rest))
            .ok_or_else(|| Error::of_value("width too big"))
    }

    fn convert(&self, kind: char, value: &Value, spec: &Directive) -> Result<String> {
        if let Some(undefined) = value.as_undefined() {
            undefined.used()?;
        }
        let plain = |body: String| {
            let body: String = match spec.precision {
                Some(precision) => body.chars().take(precision).collect(),
                None => body,
            };
            padded("", &body, spec, false)
        };
        match kind {
            's' => {
                let body = text(value)?;
                let escapes = self.markup && !matches!(value, Value::Markup(_));
                plain(if escapes { escape_html(&body) } else { body })
            }
            'r' | 'a' => plain(repr(value)?),
            'c' => match (value.as_str(), value.as_int()) {
                (Some(text), _) if text.chars().count() == 1 => plain(text.to_owned()),
                (None, Some(int)) => {
                    let c = u32::try_from(int).ok().and_then(char::from_u32);
                    let c = c.ok_or_else(|| Error::overflow("%c arg not in range(0x110000)"))?;
                    plain(c.to_string())
                }
                _ => Err(Error::of_type("%c requires int or char")),
            },
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' => integer(kind, value, spec),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => float(kind, value, spec),
            other => Err(Error::of_value(format!(
                "unsupported format character '{other}'"
            ))),
        }
    }
}

fn integer(kind: char, value: &Value, spec: &Directive) -> Result<String> {
    let is_decimal = matches!(kind, 'd' | 'i' | 'u');
    let int = match value {
        Value::Float(float) if is_decimal => float_to_int(*float),
        other => other.as_int(),
    };
    let Some(int) = int else {
        let wanted = match is_decimal {
            true => "a real number",
            false => "an integer",
        };
        return Err(Error::of_type(format!(
            "%{kind} format: {wanted} is required, not {}",
            value.type_name()
        )));
    };
    let mut body = number::radix(int.unsigned_abs(), kind);
    if let Some(precision) = spec.precision {
        let width = i128::try_from(precision).unwrap_or_default();
        body = pad(&body, width, '0', "rjust")?;
    }
    let prefix = match (spec.alternate, kind) {
        (true, 'x') => "0x",
        (true, 'X') => "0X",
        (true, 'o') => "0o",
        _ => "",
    };
    let lead = format!("{}{prefix}", sign(int < 0, spec));
    padded(&lead, &body, spec, true)
}

fn float(kind: char, value: &Value, spec: &Directive) -> Result<String> {
    let Some(float) = value.as_float() else {
        return Err(Error::of_type(format!(
            "must be real number, not {}",
            value.type_name()
        )));
    };
    let precision = spec.precision.unwrap_or(6);
    let body = match kind.to_ascii_lowercase() {
        'e' => number::scientific(float.abs(), precision),
        'f' => number::fixed(float.abs(), precision),
        _ => number::general(float.abs(), precision, spec.alternate),
    };
    let body = match kind.is_uppercase() {
        true => body.to_uppercase(),
        false => body,
    };
    padded(sign(float.is_sign_negative(), spec), &body, spec, true)
}

fn sign(negative: bool, spec: &Directive) -> &'static str {
    if negative {
        "-"
    } else if spec.plus {
        "+"
    } else if spec.blank {
        " "
    } else {
        ""
    }
}

fn padded(lead: &str, body: &str, spec: &Directive, number: bool) -> Result<String> {
    let width = i128::try_from(spec.width).unwrap_or_default();
    let whole = format!("{lead}{body}");
    if spec.left {
        return pad(&whole, width, ' ', "ljust");
    }
    if spec.zero && number {
        let lead_width = i128::try_from(lead.chars().count()).unwrap_or_default();
        return Ok(format!(
            "{lead}{}",
            pad(body, width - lead_width, '0', "rjust")?
        ));
    }
    pad(&whole, width, ' ', "rjust")
}

/// Bytes of one text.
const OUTPUT_MAX: usize = crate::limits::TEXT_BYTES_MAX;
