//! Moments in a given format.

use crate::clock::{Day, Local};
use crate::dates::{Half, MONTHS, digits, full_year, half_of_day, name};

/// Reads a moment of a given form, as Python's `strptime` does, with the
/// directives that dates and times need.
pub fn strptime(text: &str, form: &str) -> Option<Local> {
    let (mut year, mut month, mut day) = (1900, 1, 1);
    let (mut hour, mut minute, mut second) = (0, 0, 0);
    let mut half = None;
    let mut rest = text;
    let mut form = form.chars();
    while let Some(letter) = form.next() {
        if letter != '%' {
            if letter.is_whitespace() {
                rest = rest.trim_start();
            } else {
                rest = rest.strip_prefix(letter)?;
            }
            continue;
        }
        let directive = form.next()?;
        let mut number = |width: usize| {
            let long = rest
                .bytes()
                .take(width)
                .take_while(u8::is_ascii_digit)
                .count();
            let (head, tail) = rest.split_at(long);
            rest = tail;
            digits(head)
        };
        match directive {
            'Y' => year = number(4)?,
            'y' => year = full_year(number(2)?),
            'm' => month = number(2)?,
            'd' => day = number(2)?,
            'H' | 'I' => hour = number(2)?,
            'M' => minute = number(2)?,
            'S' => second = number(2)?,
            'p' => {
                let lower = rest.get(..2)?.to_ascii_lowercase();
                half = Some(half_of_day(&lower)?);
                rest = rest.get(2..)?;
            }
            'b' | 'B' => {
                let long = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
                let (head, tail) = rest.split_at(long);
                month = name(&head.to_ascii_lowercase(), &MONTHS)? + 1;
                rest = tail;
            }
            '%' => rest = rest.strip_prefix('%')?,
            _ => return None,
        }
    }
    let hour = match half {
        Some(Half::Am) => hour % 12,
        Some(Half::Pm) => hour % 12 + 12,
        None => hour,
    };
    if !rest.is_empty() || hour > 23 || minute > 59 || second > 61 {
        return None;
    }
    let day = Day::new(year, month, day)?;
    Some(Local::new(day, hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_those_of_strptime() {
        for (text, form, expected) in [
            (
                "2026-11-20T16:02:03",
                "%Y-%m-%dT%H:%M:%S",
                "2026-11-20T16:02:03",
            ),
            (
                "11/20/26 4:02 PM",
                "%m/%d/%y %I:%M %p",
                "2026-11-20T16:02:00",
            ),
            ("20 Nov 2026", "%d %b %Y", "2026-11-20T00:00:00"),
        ] {
            assert_eq!(strptime(text, form).unwrap().to_string(), expected);
        }
        assert_eq!(strptime("2026-11-20", "%Y-%m-%dT%H"), None);
        assert_eq!(strptime("2026-11-20 x", "%Y-%m-%d"), None);
        assert_eq!(strptime("2026-02-30", "%Y-%m-%d"), None);
    }
}
