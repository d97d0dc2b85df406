//! The format specification of `format`: `[[fill]align][sign][#][0][width]
//! [,][.precision][type]`.

use halite_proto::python;

use super::number;
use super::pad::pad;
use crate::error::{Error, Result};
use crate::value::{Value, float_to_int, text};

#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    width: usize,
    group: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

/// Width and precision above this are refused.
const WIDTH_MAX: usize = 1_000_000;

fn parse(spec: &str, name: &str) -> Result<Spec> {
    let mut out = Spec::default();
    let chars: Vec<char> = spec.chars().collect();
    let mut at = 0;
    let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '^' | '='));
    if is_align(chars.get(1)) {
        out.fill = chars.first().copied();
        out.align = chars.get(1).copied();
        at = 2;
    } else if is_align(chars.first()) {
        out.align = chars.first().copied();
        at = 1;
    }
    if let Some(c @ ('+' | '-' | ' ')) = chars.get(at) {
        out.sign = Some(*c);
        at += 1;
    }
    if chars.get(at) == Some(&'#') {
        out.alternate = true;
        at += 1;
    }
    if chars.get(at) == Some(&'0') {
        out.fill.get_or_insert('0');
        if out.align.is_none() {
            out.align = Some('=');
        }
        at += 1;
    }
    let digits = |at: &mut usize| -> Result<Option<usize>> {
        let start = *at;
        while chars.get(*at).is_some_and(char::is_ascii_digit) {
            *at += 1;
        }
        let text: String = chars.get(start..*at).unwrap_or_default().iter().collect();
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number| *number <= WIDTH_MAX);
        number
            .map(Some)
            .ok_or_else(|| Error::of_value("Too many decimal digits in format string"))
    };
    out.width = digits(&mut at)?.unwrap_or_default();
    if let Some(c @ (',' | '_')) = chars.get(at) {
        out.group = Some(*c);
        at += 1;
    }
    if chars.get(at) == Some(&'.') {
        at += 1;
        out.precision = digits(&mut at)?;
        if out.precision.is_none() {
            return Err(Error::of_value("Format specifier missing precision"));
        }
    }
    out.kind = chars.get(at).copied();
    if chars.len() > at + 1 {
        return Err(Error::of_value(format!(
            "Invalid format specifier '{spec}' for object of type '{name}'"
        )));
    }
    Ok(out)
}

/// Python's `format(value, spec)`.
pub(crate) fn apply(value: &Value, spec: &str) -> Result<String> {
    if spec.is_empty() {
        return text(value);
    }
    let name = value.type_name().to_owned();
    let parsed = parse(spec, &name)?;
    let unknown = |kind: char| {
        Error::of_value(format!(
            "Unknown format code '{kind}' for object of type '{name}'"
        ))
    };
    match (value, parsed.kind) {
        (Value::Str(_) | Value::Markup(_), None | Some('s')) => {
            if parsed.align == Some('=') && parsed.fill != Some('0') {
                return Err(Error::of_value(
                    "'=' alignment not allowed in string format specifier",
                ));
            }
            let mut body = text(value)?;
            if let Some(precision) = parsed.precision {
                body = body.chars().take(precision).collect();
            }
            aligned(&parsed, "", &body, '<')
        }
        (Value::Bool(_), None) => aligned(&parsed, "", &text(value)?, '<'),
        (Value::Bool(_) | Value::Int(_), None | Some('d' | 'b' | 'o' | 'x' | 'X' | 'n' | 'c')) => {
            integer(value.as_int().unwrap_or_default(), &parsed)
        }
        (Value::Float(_) | Value::Int(_) | Value::Bool(_), kind) => {
            let float = value.as_float().unwrap_or_default();
            if !matches!(
                kind,
                None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%')
            ) {
                return Err(unknown(kind.unwrap_or('?')));
            }
            floating(float, &parsed)
        }
        (Value::Str(_) | Value::Markup(_), Some(kind)) => Err(unknown(kind)),
        (other, _) => {
            if let Some(undefined) = other.as_undefined() {
                undefined.used()?;
            }
            Err(Error::of_type(format!(
                "unsupported format string passed to {name}.__format__"
            )))
        }
    }
}

fn sign_of(negative: bool, spec: &Spec) -> &'static str {
    match (negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    }
}

fn integer(int: i128, spec: &Spec) -> Result<String> {
    let kind = spec.kind.unwrap_or('d');
    if kind == 'c' {
        let c = u32::try_from(int).ok().and_then(char::from_u32);
        let c = c.ok_or_else(|| Error::overflow("%c arg not in range(0x110000)"))?;
        return aligned(spec, "", &c.to_string(), '<');
    }
    if spec.precision.is_some() {
        return Err(Error::of_value(
            "Precision not allowed in integer format specifier",
        ));
    }
    let mut body = number::radix(int.unsigned_abs(), kind);
    if let Some(separator) = spec.group {
        let size = if kind == 'd' { 3 } else { 4 };
        body = number::grouped(&body, separator, size);
    }
    let prefix = match (spec.alternate, kind) {
        (true, 'b') => "0b",
        (true, 'o') => "0o",
        (true, 'x') => "0x",
        (true, 'X') => "0X",
        _ => "",
    };
    let lead = format!("{}{prefix}", sign_of(int < 0, spec));
    aligned(spec, &lead, &body, '>')
}

fn floating(float: f64, spec: &Spec) -> Result<String> {
    let negative = float.is_sign_negative() && !float.is_nan();
    let size = float.abs();
    let precision = spec.precision.unwrap_or(6);
    let mut body = match spec.kind {
        Some('e') => number::scientific(size, precision),
        Some('E') => number::scientific(size, precision).to_uppercase(),
        Some('f' | 'F') => number::fixed(size, precision),
        Some('%') => format!("{}%", number::fixed(size * 100.0, precision)),
        Some('G') => number::general(size, precision, spec.alternate).to_uppercase(),
        Some(_) => number::general(size, precision, spec.alternate),
        None => match spec.precision {
            None => python::float_repr(size),
            Some(precision) => {
                let text = number::general(size, precision, false);
                let whole = float_to_int(size).is_some() && !text.contains(['.', 'e']);
                if whole { format!("{text}.0") } else { text }
            }
        },
    };
    if let Some(separator) = spec.group {
        body = number::grouped(&body, separator, 3);
    }
    aligned(spec, sign_of(negative, spec), &body, '>')
}

fn aligned(spec: &Spec, lead: &str, body: &str, default: char) -> Result<String> {
    let fill = spec.fill.unwrap_or(' ');
    let width = i128::try_from(spec.width).unwrap_or_default();
    let whole = format!("{lead}{body}");
    match spec.align.unwrap_or(default) {
        '<' => pad(&whole, width, fill, "ljust"),
        '>' => pad(&whole, width, fill, "rjust"),
        '^' => {
            let missing = spec.width.saturating_sub(whole.chars().count());
            let left = missing / 2;
            let fill = |count: usize| fill.to_string().repeat(count);
            Ok([&fill(left), whole.as_str(), &fill(missing - left)].concat())
        }
        _ if default == '<' => pad(&whole, width, fill, "ljust"),
        _ => {
            let lead_width = i128::try_from(lead.chars().count()).unwrap_or_default();
            Ok(format!(
                "{lead}{}",
                pad(body, width - lead_width, fill, "rjust")?
            ))
        }
    }
}
