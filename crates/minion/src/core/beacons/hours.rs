//! Times of the day as people write them.

/// Minutes since midnight of `8am`, `4:30 pm`, `16:30`, `08:00:10`.
pub fn minute_of_day(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(digits), _) => (digits, Some(0)),
        (_, Some(digits)) => (digits, Some(12)),
        _ => (text.as_str(), None),
    };
    let mut parts = digits.trim().split(':').map(str::parse::<i64>);
    let hour = parts.next()?.ok()?;
    let minute = parts.next().unwrap_or(Ok(0)).ok()?;
    let second = parts.next().unwrap_or(Ok(0)).ok()?;
    let hour = match half {
        Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + half)?,
        None => hour,
    };
    let sound = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    (sound && parts.next().is_none()).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        for (text, minute) in [
            ("8am", Some(480)),
            ("4 PM", Some(960)),
            ("4:30pm", Some(990)),
            ("16:30", Some(990)),
            ("08:00:10", Some(480)),
            ("12am", Some(0)),
            ("12pm", Some(720)),
            ("24:00", None),
            ("13pm", None),
            ("soon", None),
        ] {
            assert_eq!(minute_of_day(text), minute, "{text}");
        }
    }
}
