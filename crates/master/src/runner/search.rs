//! Selects stored jobs by function, target, metadata and time.

use halite_proto::{Jid, Map, Value};
use halite_store::JobFilter;
use halite_target::glob::fnmatch;

/// Shown for a job without a function or target.
const UNKNOWN: [&str; 2] = ["unknown-function", "unknown-target"];

/// What jobs are searched by.
pub(super) struct Search<'a> {
    pub(super) metadata: &'a Value,
    pub(super) function: &'a Value,
    pub(super) target: &'a Value,
    /// The user who published it; any user if the value is not true.
    pub(super) user: &'a Value,
    pub(super) start: Option<String>,
    pub(super) end: Option<String>,
}

impl Search<'_> {
    /// The part of the search that the job cache can do itself; it finds all that match.
    pub(super) fn filter(&self) -> JobFilter {
        let [function, target] = UNKNOWN;
        JobFilter {
            functions: globs_beside(self.function, function),
            targets: globs_beside(self.target, target),
            user: (self.user.is_true()).then(|| halite_proto::python::str(self.user)),
            since: self.start.clone(),
            until: self.end.clone(),
            not_function: None,
        }
    }

    pub(super) fn fits(&self, jid: &Jid, job: &Map) -> bool {
        let text = |name: &str| job.get(name).unwrap_or(&Value::Nil);
        fits_metadata(self.metadata, job.get("Metadata"))
            && fits_globs(self.target, text("Target"))
            && fits_globs(self.function, text("Function"))
            && (!self.user.is_true() || text("User") == self.user)
            && self
                .start
                .as_deref()
                .is_none_or(|start| jid.as_str() >= start)
            && self.end.as_deref().is_none_or(|end| jid.as_str() <= end)
    }
}

fn fits_metadata(wanted: &Value, found: Option<&Value>) -> bool {
    match wanted {
        Value::Map(wanted) if !wanted.is_empty() => {
            let found = found.and_then(Value::as_map);
            found.is_some_and(|found| {
                wanted
                    .iter()
                    .any(|(key, value)| found.get_value(key) == Some(value))
            })
        }
        // Salt takes anything else as something that nothing fits.
        other => !other.is_true(),
    }
}

fn globs(wanted: &Value) -> Vec<String> {
    match wanted {
        Value::List(globs) => globs.iter().map(halite_proto::python::str).collect(),
        other => halite_proto::python::str(other)
            .split(',')
            .map(|glob| glob.trim().to_owned())
            .collect(),
    }
}

/// The globs that are wanted; none where one of them fits what is only shown.
fn globs_beside(wanted: &Value, shown: &str) -> Vec<String> {
    if !wanted.is_true() {
        return Vec::new();
    }
    let globs = globs(wanted);
    match globs.iter().any(|glob| fnmatch(glob, shown)) {
        true => Vec::new(),
        false => globs,
    }
}

/// Whether a text, or one of several, fits one of the globs in a list or in a
/// text with commas.
fn fits_globs(wanted: &Value, found: &Value) -> bool {
    if !wanted.is_true() {
        return true;
    }
    let globs = globs(wanted);
    let found: Vec<String> = match found {
        Value::List(texts) => texts.iter().map(halite_proto::python::str).collect(),
        other => vec![halite_proto::python::str(other)],
    };
    found
        .iter()
        .any(|text| globs.iter().any(|glob| fnmatch(glob, text)))
}

/// A moment as the first digits of job ids: `2026, Nov 20 14:19:41.3`, `2026-11-20
/// 14:19`, `20261120`. `None` if the text is not a moment.
pub(super) fn moment(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let lower = text.to_lowercase();
    let (date, time) = match lower.find(':') {
        // The hour stands before the first colon.
        Some(colon) => {
            let hour = lower
                .get(..colon)?
                .rfind(|c: char| !c.is_ascii_digit())
                .map_or(0, |at| at + 1);
            let date = lower.get(..hour)?;
            (date.strip_suffix('t').unwrap_or(date), lower.get(hour..)?)
        }
        None => (lower.as_str(), ""),
    };
    let words: Vec<&str> = date
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let number = |word: &str, max: u32| {
        let number: u32 = word.parse().ok()?;
        (number <= max).then(|| format!("{number:02}"))
    };
    let month = |word: &str| match MONTHS.iter().position(|month| word.starts_with(month)) {
        Some(at) => Some(format!("{:02}", at + 1)),
        None => number(word, 12),
    };
    let mut digits = match words.as_slice() {
        [all] if all.len() >= 8 && all.bytes().all(|byte| byte.is_ascii_digit()) => {
            (*all).to_owned()
        }
        [year, name, day] if year.len() == 4 => {
            format!(
                "{:04}{}{}",
                year.parse::<u32>().ok()?,
                month(name)?,
                number(day, 31)?
            )
        }
        [name, day, year] if year.len() == 4 => {
            format!(
                "{:04}{}{}",
                year.parse::<u32>().ok()?,
                month(name)?,
                number(day, 31)?
            )
        }
        _ => return None,
    };
    let mut parts = time.split([':', '.']);
    for max in [23, 59, 59] {
        match parts.next().filter(|part| !part.is_empty()) {
            Some(part) => digits.push_str(&number(part.trim(), max)?),
            None => break,
        }
    }
    if let Some(fraction) = parts.next() {
        digits.push_str(fraction.trim());
    }
    Some(digits)
}

/// The end of a span takes in all that begins with its digits.
pub(super) fn span_end(digits: String) -> String {
    const JID_DIGITS: usize = 20;
    let nines = JID_DIGITS.saturating_sub(digits.len());
    digits + &"9".repeat(nines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_searched_by_globs_and_metadata() {
        assert!(fits_globs(&Value::Nil, &"x".into()));
        assert!(fits_globs(
            &"state.*, test.ping".into(),
            &"test.ping".into()
        ));
        assert!(!fits_globs(&"state.*".into(), &"test.ping".into()));
        let several = Value::List(vec!["web1".into(), "db1".into()]);
        assert!(fits_globs(&"db*".into(), &several));
        let wanted = Value::from(Map::from([("a", 1)]));
        let found = Value::from(Map::from([("a", 1), ("b", 2)]));
        assert!(fits_metadata(&wanted, Some(&found)));
        assert!(!fits_metadata(&wanted, None));
        assert!(!fits_metadata(&"a".into(), Some(&found)));
        assert!(fits_metadata(&Value::Nil, None));
    }

    #[test]
    fn moments_are_read_in_the_usual_notations() {
        for (text, digits) in [
            ("2026, Nov 20 14:19:41.349826", "20261120141941349826"),
            ("2026-11-20 14:19", "202611201419"),
            ("2026-11-20T14:19:41", "20261120141941"),
            ("Nov 20 2026", "20261120"),
            ("20261120", "20261120"),
            ("2015, Mar 16 9:05", "201503160905"),
        ] {
            assert_eq!(moment(text).as_deref(), Some(digits), "{text}");
        }
        for text in ["", "soon", "2026-13-40", "99:99"] {
            assert_eq!(moment(text), None, "{text}");
        }
        assert_eq!(span_end("20261120".to_owned()), "20261120999999999999");
    }
}
