//! Versions of Python packages: their order, and conditions on them (PEP 440).

use std::cmp::Ordering;

/// A version in its parts, each in the order in which they count.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    epoch: u64,
    release: Vec<u64>,
    /// Before the release: alpha 0, beta 1, candidate 2; the release itself 3.
    pre: (u8, u64),
    post: Option<u64>,
    dev: Option<u64>,
    local: String,
}

fn number(text: &str) -> (u64, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    (text[..end].parse().unwrap_or(0), &text[end..])
}

fn skip(text: &str) -> &str {
    text.strip_prefix(['.', '-', '_']).unwrap_or(text)
}

fn parse(text: &str) -> Option<Version> {
    let text = text.trim().to_lowercase();
    let (text, local) = text.split_once('+').unwrap_or((&text, ""));
    let mut rest = text.strip_prefix('v').unwrap_or(text);
    let mut epoch = 0;
    if let Some((number, after)) = rest.split_once('!') {
        epoch = number.parse().ok()?;
        rest = after;
    }
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut release = Vec::new();
    loop {
        let (part, after) = number(rest);
        release.push(part);
        rest = after;
        match rest.strip_prefix('.') {
            Some(after) if after.starts_with(|c: char| c.is_ascii_digit()) => rest = after,
            _ => break,
        }
    }
    let mut version = Version {
        epoch,
        release,
        pre: (3, 0),
        post: None,
        dev: None,
        local: local.to_owned(),
    };
    let kinds = [
        ("alpha", 0),
        ("beta", 1),
        ("preview", 2),
        ("pre", 2),
        ("rc", 2),
        ("a", 0),
        ("b", 1),
        ("c", 2),
    ];
    for (word, kind) in kinds {
        if let Some(after) = skip(rest).strip_prefix(word) {
            let (count, after) = number(skip(after));
            version.pre = (kind, count);
            rest = after;
            break;
        }
    }
    for word in ["post", "rev", "r"] {
        if let Some(after) = skip(rest).strip_prefix(word) {
            let (count, after) = number(skip(after));
            version.post = Some(count);
            rest = after;
            break;
        }
    }
    if let Some(after) = rest.strip_prefix('-').filter(|_| version.post.is_none()) {
        let (count, after) = number(after);
        version.post = Some(count);
        rest = after;
    }
    if let Some(after) = skip(rest).strip_prefix("dev") {
        let (count, after) = number(skip(after));
        version.dev = Some(count);
        rest = after;
    }
    rest.is_empty().then_some(version)
}

fn release_order(a: &[u64], b: &[u64]) -> Ordering {
    let length = a.len().max(b.len());
    let at = |list: &[u64], at: usize| list.get(at).copied().unwrap_or(0);
    (0..length)
        .map(|index| at(a, index).cmp(&at(b, index)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

impl Version {
    /// A development release comes before what it becomes.
    fn key(&self) -> ((u8, u64), i128, i128) {
        let pre = match (self.pre, self.post, self.dev) {
            ((3, _), None, Some(_)) => (0, 0),
            ((kind, count), ..) => (kind + 1, count),
        };
        let post = self.post.map_or(-1, i128::from);
        (pre, post, self.dev.map_or(i128::MAX, i128::from))
    }

    fn public_order(&self, other: &Self) -> Ordering {
        self.epoch
            .cmp(&other.epoch)
            .then_with(|| release_order(&self.release, &other.release))
            .then_with(|| self.key().cmp(&other.key()))
    }
}

/// The order of two versions; nothing when one is none.
pub(crate) fn compare(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (parse(a)?, parse(b)?);
    Some(a.public_order(&b).then_with(|| a.local.cmp(&b.local)))
}

/// Whether a version is an alpha, a beta, a candidate or of development.
pub(crate) fn is_early(version: &str) -> bool {
    parse(version).is_some_and(|version| version.pre.0 < 3 || version.dev.is_some())
}

/// Whether a version fulfils all conditions.
pub(crate) fn fulfills(version: &str, conditions: &[(String, String)]) -> bool {
    // A version that is not final is only meant where one is named.
    let early_meant = conditions.iter().any(|(_, wanted)| is_early(wanted));
    if is_early(version) && !early_meant && !conditions.is_empty() {
        return false;
    }
    conditions
        .iter()
        .all(|(operator, wanted)| fulfills_one(version, operator, wanted))
}

fn fulfills_one(version: &str, operator: &str, wanted: &str) -> bool {
    if operator == "===" {
        return version == wanted;
    }
    let (Some(own), prefix) = (parse(version), wanted.strip_suffix(".*")) else {
        return version == wanted;
    };
    let Some(target) = parse(prefix.unwrap_or(wanted)) else {
        return version == wanted;
    };
    let begins = |count: usize| {
        let mut release = own.release.clone();
        release.resize(release.len().max(count), 0);
        own.epoch == target.epoch && release[..count] == target.release[..count]
    };
    let order = own.public_order(&target);
    match operator {
        "==" | "=" if prefix.is_some() => begins(target.release.len()),
        "!=" if prefix.is_some() => !begins(target.release.len()),
        "==" | "=" => order.is_eq() && (target.local.is_empty() || own.local == target.local),
        "!=" => order.is_ne(),
        ">=" => order.is_ge(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        "<" => order.is_lt(),
        "~=" => order.is_ge() && begins(target.release.len().saturating_sub(1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered() {
        let rising = [
            "1.0.dev1",
            "1.0a1.dev1",
            "1.0a1",
            "1.0a2",
            "1.0b1",
            "1.0rc1",
            "1.0",
            "1.0.post1",
            "1.0.1",
            "1.2",
            "1.10",
            "1!0.1",
        ];
        for (at, low) in rising.iter().enumerate() {
            assert_eq!(compare(low, low), Some(Ordering::Equal));
            for high in &rising[at + 1..] {
                assert_eq!(compare(low, high), Some(Ordering::Less), "{low} {high}");
            }
        }
        assert_eq!(compare("1.0", "1.0.0"), Some(Ordering::Equal));
        assert_eq!(compare("x", "1"), None);
    }

    #[test]
    fn conditions_hold_or_do_not() {
        let holds = |version: &str, operator: &str, wanted: &str| {
            fulfills(version, &[(operator.to_owned(), wanted.to_owned())])
        };
        assert!(holds("1.4.5", "==", "1.4.*") && !holds("1.5", "==", "1.4.*"));
        assert!(holds("1.4.5", "~=", "1.4.2") && !holds("1.5", "~=", "1.4.2"));
        assert!(holds("2.0", ">", "1.9") && !holds("1.9", ">", "1.9"));
        assert!(!holds("2.0rc1", ">=", "1.0") && holds("2.0rc1", ">=", "1.0rc1"));
        assert!(holds("1.0+local", "==", "1.0"));
        assert!(fulfills("9", &[]));
    }
}
