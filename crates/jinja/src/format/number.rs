//! Numbers with a given number of digits.
use halite_proto::python;

/// `%f`.
pub(super) fn fixed(float: f64, precision: usize) -> String {
    special(float).unwrap_or_else(|| format!("{float:.precision$}"))
}

/// `%e`.
pub(super) fn scientific(float: f64, precision: usize) -> String {
    special(float).unwrap_or_else(|| {
        let text = format!("{float:.precision$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    })
}

/// `%g`.
pub(super) fn general(float: f64, precision: usize, alternate: bool) -> String {
    if let Some(text) = special(float) {
        return text;
    }
    let precision = precision.max(1);
    let places = precision - 1;
    let text = format!("{float:.places$e}");
    let exponent: i64 = text
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or_default();
    let wide = i64::try_from(precision).unwrap_or(i64::MAX);
    if exponent < -4 || exponent >= wide {
        let text = scientific(float, places);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", trimmed(digits, alternate));
    }
    let decimals = usize::try_from(wide - 1 - exponent).unwrap_or_default();
    trimmed(&format!("{float:.decimals$}"), alternate)
}

fn trimmed(digits: &str, alternate: bool) -> String {
    if alternate || !digits.contains('.') {
        return digits.to_owned();
    }
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

fn special(float: f64) -> Option<String> {
    (!float.is_finite()).then(|| python::float_repr(float))
}

/// Groups of three digits before the point.
pub(super) fn grouped(digits: &str, separator: char, size: usize) -> String {
    let end = digits
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let mut out = String::new();
    for (index, c) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(size) {
            out.push(separator);
        }
        out.push(c);
    }
    out + rest
}

/// An integer without its sign in another base.
pub(super) fn radix(value: u128, kind: char) -> String {
    match kind {
        'b' => format!("{value:b}"),
        'o' => format!("{value:o}"),
        'x' => format!("{value:x}"),
        'X' => format!("{value:X}"),
        _ => value.to_string(),
    }
}
