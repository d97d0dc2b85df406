//! Points in time as certificates and people write them, all in UTC.

use halite_call::CallError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::asn1::{DerError, Item, tag, tlv};

/// How people write them.
const FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// Seconds since 1970 from `2030-12-31 23:59:59`.
pub(crate) fn parse(text: &str) -> Result<i64, CallError> {
    let time = DateTime::strptime(FORMAT, text)
        .ok()
        .and_then(|time| time.to_zoned(TimeZone::UTC).ok());
    time.map(|time| time.timestamp().as_second())
        .ok_or_else(|| {
            CallError::exception(
                "ValueError",
                format!("time data '{text}' does not match format '{FORMAT}'"),
            )
        })
}

fn civil(seconds: i64) -> DateTime {
    let time = Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    });
    TimeZone::UTC.to_datetime(time)
}

pub(crate) fn text(seconds: i64) -> String {
    civil(seconds).strftime(FORMAT).to_string()
}

pub(crate) fn now() -> i64 {
    Timestamp::now().as_second()
}

/// Some days later.
pub(crate) fn later(seconds: i64, days: i64) -> i64 {
    seconds.saturating_add(days.saturating_mul(86400))
}

/// Up to 2049 in the short form.
pub(crate) fn der(seconds: i64) -> Vec<u8> {
    let time = civil(seconds);
    if (1950..2050).contains(&time.year()) {
        let text = time.strftime("%y%m%d%H%M%SZ").to_string();
        tlv(tag::UTC_TIME, text.as_bytes())
    } else {
        generalized(seconds)
    }
}

/// As it stands in names of files: `20301231235959`.
pub(crate) fn compact(seconds: i64) -> String {
    civil(seconds).strftime("%Y%m%d%H%M%S").to_string()
}

/// With two digits of the year: `301231235959`.
pub(crate) fn short(seconds: i64) -> String {
    civil(seconds).strftime("%y%m%d%H%M%S").to_string()
}

/// Seconds from what [`short`] writes, with or without a `Z`.
pub(crate) fn parse_short(text: &str) -> Option<i64> {
    let time = DateTime::strptime("%y%m%d%H%M%S", text.trim_end_matches('Z')).ok()?;
    let time = time.to_zoned(TimeZone::UTC).ok()?;
    Some(time.timestamp().as_second())
}

pub(crate) fn generalized(seconds: i64) -> Vec<u8> {
    let text = civil(seconds).strftime("%Y%m%d%H%M%SZ").to_string();
    tlv(tag::TIME, text.as_bytes())
}

pub(crate) fn read(item: &Item<'_>) -> Result<i64, DerError> {
    let text = std::str::from_utf8(item.body).map_err(|_| DerError::Value)?;
    let text = match item.tag {
        tag::UTC_TIME => {
            let year: i32 = text
                .get(..2)
                .and_then(|year| year.parse().ok())
                .ok_or(DerError::Value)?;
            format!("{}{text}", if year < 50 { "20" } else { "19" })
        }
        tag::TIME => text.to_owned(),
        _ => return Err(DerError::Value),
    };
    DateTime::strptime("%Y%m%d%H%M%SZ", &text)
        .ok()
        .and_then(|time| time.to_zoned(TimeZone::UTC).ok())
        .map(|time| time.timestamp().as_second())
        .ok_or(DerError::Value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asn1::Reader;

    #[test]
    fn times_go_both_ways() {
        for written in [
            "1999-12-31 23:59:59",
            "2030-01-02 03:04:05",
            "2051-06-07 08:09:10",
        ] {
            let seconds = parse(written).unwrap();
            let der = der(seconds);
            let item = Reader::new(&der).next().unwrap();
            assert_eq!(read(&item), Ok(seconds));
            assert_eq!(text(seconds), written);
        }
        assert!(parse("tomorrow").is_err());
    }
}
