//! Dates as text.

use halite_jinja::{Error, Result};
use halite_proto::Value;
use halite_proto::python;
use jiff::civil::{Date, DateTime};
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use super::Args;

/// A date - seconds since 1970, text that is one, or nothing for now - as
/// text.
pub(super) fn strftime(args: &Args<'_>) -> Result<Value> {
    let format = args.text_or(1, "format", "%Y-%m-%d")?;
    let zone = TimeZone::system();
    let now = || Timestamp::now().to_zoned(zone.clone());
    let moment = match args.value() {
        Value::Nil => now(),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
            let seconds = match args.value() {
                Value::Bool(bool) => f64::from(u8::from(bool)),
                number => number.as_f64().unwrap_or_default(),
            };
            of_seconds(seconds, &zone).ok_or_else(|| unknown(&format!("{seconds}")))?
        }
        Value::Str(text) => of_text(&text, &zone, now).ok_or_else(|| unknown(&text))?,
        other => return Err(unknown(&python::str(&other))),
    };
    Ok(text(&moment, &format)?.into())
}

fn unknown(text: &str) -> Error {
    Error::foreign(format!("Unable to parse {text}"))
}

fn of_seconds(seconds: f64, zone: &TimeZone) -> Option<Zoned> {
    if !seconds.is_finite() || seconds.abs() > 1e11 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "within the bounds above")]
    let micros = (seconds * 1e6).round() as i64;
    let stamp = Timestamp::from_microsecond(micros).ok()?;
    Some(stamp.to_zoned(zone.clone()))
}

/// Seconds as digits, and the ways of writing a date that are common.
fn of_text(text: &str, zone: &TimeZone, now: impl Fn() -> Zoned) -> Option<Zoned> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return of_seconds(seconds, zone);
    }
    let day = |days: i64| now().start_of_day().ok()?.checked_add(days.days()).ok();
    match text.to_ascii_lowercase().as_str() {
        "now" => return Some(now()),
        "today" | "midnight" => return day(0),
        "tomorrow" => return day(1),
        "yesterday" => return day(-1),
        _ => {}
    }
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Some(stamp.to_zoned(zone.clone()));
    }
    let text = text.replacen('/', "-", 2);
    let civil = text.parse::<DateTime>().ok().or_else(|| {
        Some(
            text.parse::<Date>()
                .ok()?
                .to_datetime(jiff::civil::Time::midnight()),
        )
    })?;
    civil.to_zoned(zone.clone()).ok()
}

/// Python's `strftime` of a date without a zone: `%z` and `%Z` are empty, `%f`
/// are six digits; what is no directive stays.
fn text(moment: &Zoned, format: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = directive(rest);
        let (one, behind) = rest.split_at(end);
        match one {
            "%" => out.push('%'),
            "%z" | "%Z" => {}
            // As the C locale has them.
            "%c" => out.push_str(&text(moment, "%a %b %e %H:%M:%S %Y")?),
            "%x" => out.push_str(&text(moment, "%m/%d/%y")?),
            "%X" => out.push_str(&text(moment, "%H:%M:%S")?),
            "%f" => out.push_str(&format!("{:06}", moment.subsec_nanosecond() / 1000)),
            _ => match strtime::format(one, moment) {
                Ok(text) => out.push_str(&text),
                Err(_) => out.push_str(one),
            },
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// Bytes of the directive at the start: `%`, flags, digits, a letter.
fn directive(text: &str) -> usize {
    let flag = |c: char| matches!(c, '-' | '_' | '0' | '^' | '#') || c.is_ascii_digit();
    let mut chars = text.char_indices().skip(1).skip_while(|(_, c)| flag(*c));
    match chars.next() {
        Some((at, c)) => at + c.len_utf8(),
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text_in: &str, format: &str) -> String {
        let zone = TimeZone::UTC;
        let moment = of_text(text_in, &zone, || {
            Timestamp::UNIX_EPOCH.to_zoned(zone.clone())
        });
        text(&moment.unwrap(), format).unwrap()
    }

    #[test]
    fn dates_are_written_as_python_writes_them() {
        assert_eq!(formatted("1040814000", "%Y-%m-%d"), "2002-12-25");
        assert_eq!(formatted("2002/12/25", "%d.%m.%y %H:%M"), "25.12.02 00:00");
        assert_eq!(
            formatted("2002-12-25 13:05:09", "%-H %I%p %j %a %B"),
            "13 01PM 359 Wed December"
        );
        assert_eq!(
            formatted("1.25", "%f|%z|%Z|%%|%s|%i|%"),
            "250000|||%|1|%i|%"
        );
        assert_eq!(formatted("tomorrow", "%F %T"), "1970-01-02 00:00:00");
    }
}
