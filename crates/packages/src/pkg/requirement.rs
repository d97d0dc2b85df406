//! Parses a wanted version: one version, a pattern, or comparisons (`>=1.2,<2`).

use std::cmp::Ordering;

use halite_target::glob::fnmatch;

use super::provider::Provider;
use super::version::without_epoch;

const OPERATORS: &[&str] = &["<=>", "!=", ">=", "<=", ">>", "<<", "<>", ">", "<", "="];

/// The operator (maybe none) and the version of one condition.
pub(crate) fn split(condition: &str) -> (&str, &str) {
    let found = OPERATORS
        .iter()
        .find_map(|operator| Some((*operator, condition.strip_prefix(operator)?)));
    let (operator, rest) = found.unwrap_or(("", condition));
    let version = rest.strip_prefix(char::is_whitespace).unwrap_or(rest);
    if version.is_empty() || version.contains(['<', '>', '=']) {
        ("", condition)
    } else {
        (operator, version)
    }
}

/// The conditions of a wanted version.
fn conditions(wanted: &str) -> Vec<(&str, &str)> {
    let wanted = wanted.trim();
    if wanted.is_empty() {
        return Vec::new();
    }
    wanted
        .split(',')
        .map(|condition| match split(condition.trim()) {
            ("" | "=", version) => ("==", version),
            other => other,
        })
        .collect()
}

/// Whether one of the installed versions is what is wanted.
pub(crate) fn fulfills(
    provider: &dyn Provider,
    installed: &[String],
    wanted: &str,
    ignore_epoch: Option<bool>,
    allow_updates: bool,
) -> bool {
    let conditions = conditions(wanted);
    let single = conditions.len() == 1;
    installed.iter().any(|version| {
        conditions.iter().all(|(operator, wanted)| {
            let operator = match *operator {
                "==" if allow_updates && single => ">=",
                operator => operator,
            };
            let ignore = ignore_epoch
                .unwrap_or_else(|| !operator.contains(['<', '>']) && !wanted.contains(':'));
            (operator == "==" && fnmatch(wanted, version))
                || holds(provider, version, operator, wanted, ignore)
        })
    })
}

fn holds(provider: &dyn Provider, a: &str, operator: &str, b: &str, ignore_epoch: bool) -> bool {
    let order = if ignore_epoch {
        provider.compare(without_epoch(a), without_epoch(b))
    } else {
        provider.compare(a, b)
    };
    match operator {
        "==" => order == Ordering::Equal,
        "!=" => order != Ordering::Equal,
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        ">=" => order != Ordering::Less,
        _ => false,
    }
}

/// The first candidate that is what is wanted.
pub(crate) fn pick(
    provider: &dyn Provider,
    wanted: &str,
    candidates: &[String],
    ignore_epoch: bool,
) -> Option<String> {
    let (operator, version) = split(wanted);
    let operator = if operator.is_empty() { "==" } else { operator };
    candidates
        .iter()
        .find(|candidate| holds(provider, candidate, operator, version, ignore_epoch))
        .cloned()
}

/// The message where no candidate is what is wanted.
pub(crate) fn unmatched(name: &str, wanted: &str, candidates: &[String]) -> String {
    let known = if candidates.is_empty() {
        "None".to_owned()
    } else {
        candidates.join(", ")
    };
    format!("No version matching '{name}{wanted}' could be found (available: {known})")
}

#[cfg(test)]
mod tests {
    use super::super::apt::Apt;
    use super::*;

    #[test]
    fn conditions_are_read_as_salt_reads_them() {
        assert_eq!(split(">=1.2"), (">=", "1.2"));
        assert_eq!(split(">= 1.2"), (">=", "1.2"));
        assert_eq!(split("1.2"), ("", "1.2"));
        assert_eq!(split("=1.2-1"), ("=", "1.2-1"));
        assert_eq!(split(">="), ("", ">="));
    }

    #[test]
    fn installed_versions_are_checked() {
        let has = |installed: &str, wanted: &str, updates| {
            fulfills(&Apt, &[installed.to_owned()], wanted, None, updates)
        };
        assert!(has("1.2-3", "1.2*", false));
        assert!(has("1:1.2-3", "1.2-3", false), "the epoch is left out");
        assert!(has("1.5", ">=1.2,<2", false));
        assert!(!has("2.0", ">=1.2,<2", false));
        assert!(!has("1.5", "1.2", false));
        assert!(has("1.5", "1.2", true));
    }
}
