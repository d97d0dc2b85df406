//! A cookie without what changes each time: the session, and when it ends.

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// What `Set-Cookie` says in an answer of the date `now`, with words for the value, for
/// the end and for the lifetime. Other attributes stay as they are.
pub(crate) fn shape(cookie: &str, now: &str) -> String {
    let mut parts = cookie.split(';').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let named = match first.split_once('=') {
        Some((name, value)) if value.trim_matches('"').is_empty() => format!("{name}="),
        Some((name, _)) => format!("{name}=SESSION"),
        None => first.to_owned(),
    };
    let attributes = parts.map(|part| match part.split_once('=') {
        Some((name, date)) if name.eq_ignore_ascii_case("expires") => {
            let end = match (moment(date), moment(now)) {
                (Some(end), Some(now)) if end > now => "LATER",
                (Some(_), Some(_)) => "PAST",
                _ => date,
            };
            format!("{name}={end}")
        }
        Some((name, seconds)) if name.eq_ignore_ascii_case("max-age") && seconds != "0" => {
            format!("{name}=SECONDS")
        }
        _ => part.to_owned(),
    });
    let all: Vec<String> = std::iter::once(named).chain(attributes).collect();
    all.join("; ")
}

/// Year, month, day and time of a date as HTTP writes it.
fn moment(date: &str) -> Option<(u16, usize, u8, &str)> {
    let mut words = date.split([' ', '-']).skip(1);
    let day = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let year = words.next()?.parse().ok()?;
    Some((year, month, day, words.next()?))
}

#[test]
fn what_changes_each_time_is_left_out() {
    let now = "Tue, 01 Dec 2026 10:00:00 GMT";
    let begun = "session_id=3f2a; expires=Tue, 01 Dec 2026 20:00:00 GMT; Max-Age=36000; Path=/";
    assert_eq!(
        shape(begun, now),
        "session_id=SESSION; expires=LATER; Max-Age=SECONDS; Path=/"
    );
    let ended = "session_id=\"\"; expires=Mon, 30 Nov 2026 23:00:00 GMT; Max-Age=0; HttpOnly";
    assert_eq!(
        shape(ended, now),
        "session_id=; expires=PAST; Max-Age=0; HttpOnly"
    );
    assert_eq!(shape("a=b; expires=soon", now), "a=SESSION; expires=soon");
}
