//! Comparing versions as the package tools do, without asking them.
//!
//! Invariant: every comparison is total: any two texts have an order.

use std::cmp::Ordering;

/// The order of two versions as `dpkg --compare-versions` has it.
pub(crate) fn debian(a: &str, b: &str) -> Ordering {
    let ((epoch_a, a), (epoch_b, b)) = (epoch(a), epoch(b));
    let ((upstream_a, revision_a), (upstream_b, revision_b)) = (revision(a), revision(b));
    epoch_a
        .cmp(&epoch_b)
        .then_with(|| debian_part(upstream_a, upstream_b))
        .then_with(|| debian_part(revision_a, revision_b))
}

/// The order of two `epoch:version-release` texts as rpm has it; a release
/// counts only when both have one.
pub(crate) fn rpm(a: &str, b: &str) -> Ordering {
    let ((epoch_a, a), (epoch_b, b)) = (epoch(a), epoch(b));
    let (upstream_a, release_a) = a.split_once('-').unwrap_or((a, ""));
    let (upstream_b, release_b) = b.split_once('-').unwrap_or((b, ""));
    epoch_a
        .cmp(&epoch_b)
        .then_with(|| rpm_part(upstream_a, upstream_b))
        .then_with(|| {
            if release_a.is_empty() || release_b.is_empty() {
                Ordering::Equal
            } else {
                rpm_part(release_a, release_b)
            }
        })
}

/// The order of apk's and pacman's versions: numbers by value, words by
/// letters, `_alpha`, `_beta`, `_pre`, `_rc` before the release.
pub(crate) fn plain(a: &str, b: &str) -> Ordering {
    let ((epoch_a, a), (epoch_b, b)) = (epoch(a), epoch(b));
    let early = |text: &str| {
        let mut text = text.to_owned();
        for word in ["_alpha", "_beta", "_pre", "_rc"] {
            text = text.replace(word, &format!("~{}", &word[1..]));
        }
        text
    };
    epoch_a
        .cmp(&epoch_b)
        .then_with(|| rpm_part(&early(a), &early(b)))
}

/// The version without its epoch.
pub(crate) fn without_epoch(version: &str) -> &str {
    version.split_once(':').map_or(version, |(_, rest)| rest)
}

fn epoch(version: &str) -> (u64, &str) {
    match version.split_once(':') {
        Some((epoch, rest)) => (epoch.trim().parse().unwrap_or(0), rest),
        None => (0, version),
    }
}

fn revision(version: &str) -> (&str, &str) {
    version.rsplit_once('-').unwrap_or((version, ""))
}

/// Letters before other signs, `~` before everything, even the end.
fn weight(byte: Option<u8>) -> i32 {
    match byte {
        Some(b'~') => -1,
        Some(byte) if byte.is_ascii_digit() => 0,
        Some(byte) if byte.is_ascii_alphabetic() => byte.into(),
        Some(byte) => i32::from(byte) + 256,
        None => 0,
    }
}

fn debian_part(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while !a.is_empty() || !b.is_empty() {
        loop {
            let (first_a, first_b) = (a.first().copied(), b.first().copied());
            let text = |byte: Option<u8>| byte.is_some_and(|byte| !byte.is_ascii_digit());
            if !text(first_a) && !text(first_b) {
                break;
            }
            let order = weight(first_a).cmp(&weight(first_b));
            if order != Ordering::Equal {
                return order;
            }
            a = a.get(1..).unwrap_or_default();
            b = b.get(1..).unwrap_or_default();
        }
        let order = number(&mut a).cmp_number(number(&mut b));
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

fn rpm_part(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        a = skip_signs(a);
        b = skip_signs(b);
        match (a.first(), b.first()) {
            (Some(b'~'), Some(b'~')) => {
                (a, b) = (&a[1..], &b[1..]);
                continue;
            }
            (Some(b'~'), _) => return Ordering::Less,
            (_, Some(b'~')) => return Ordering::Greater,
            (Some(b'^'), Some(b'^')) => {
                (a, b) = (&a[1..], &b[1..]);
                continue;
            }
            (Some(b'^'), None) => return Ordering::Greater,
            (None, Some(b'^')) => return Ordering::Less,
            (Some(b'^'), Some(_)) => return Ordering::Less,
            (Some(_), Some(b'^')) => return Ordering::Greater,
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => match (x.is_ascii_digit(), y.is_ascii_digit()) {
                (true, true) => {
                    let order = number(&mut a).cmp_number(number(&mut b));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                (false, false) => {
                    let order = letters(&mut a).cmp(letters(&mut b));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                // Numbers are newer than letters.
                (true, false) => return Ordering::Greater,
                (false, true) => return Ordering::Less,
            },
        }
    }
}

fn skip_signs(text: &[u8]) -> &[u8] {
    let kept = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'~' | b'^');
    let at = text.iter().position(kept).unwrap_or(text.len());
    &text[at..]
}

/// Digits without the zeros before them: compared by length, then by text, so
/// that no number is too long.
struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    fn cmp_number(&self, other: Digits<'_>) -> Ordering {
        self.0
            .len()
            .cmp(&other.0.len())
            .then_with(|| self.0.cmp(other.0))
    }
}

fn number<'t>(text: &mut &'t [u8]) -> Digits<'t> {
    let taken = take(text, u8::is_ascii_digit);
    let zeros = taken.iter().take_while(|byte| **byte == b'0').count();
    Digits(&taken[zeros..])
}

fn letters<'t>(text: &mut &'t [u8]) -> &'t [u8] {
    take(text, u8::is_ascii_alphabetic)
}

fn take<'t>(text: &mut &'t [u8], wanted: fn(&u8) -> bool) -> &'t [u8] {
    let end = text
        .iter()
        .position(|byte| !wanted(byte))
        .unwrap_or(text.len());
    let (taken, rest) = text.split_at(end);
    *text = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_rising(compare: fn(&str, &str) -> Ordering, versions: &[&str]) {
        for (at, low) in versions.iter().enumerate() {
            assert_eq!(compare(low, low), Ordering::Equal);
            for high in &versions[at + 1..] {
                assert_eq!(compare(low, high), Ordering::Less, "{low} {high}");
                assert_eq!(compare(high, low), Ordering::Greater, "{high} {low}");
            }
        }
    }

    #[test]
    fn debian_versions_are_ordered_as_dpkg_orders_them() {
        assert_rising(
            debian,
            &[
                "1.0~~", "1.0~~a", "1.0~", "1.0", "1.0-1", "1.0a", "1.0+b1", "1.2", "1.10",
                "1.10-2", "1.10-10", "1:0.1", "2:0",
            ],
        );
        assert_eq!(debian("0:1.0-0", "1.0"), Ordering::Equal);
        assert_eq!(debian("1.00", "1.0"), Ordering::Equal);
        assert_eq!(debian("", ""), Ordering::Equal);
    }

    #[test]
    fn rpm_versions_are_ordered_as_rpm_orders_them() {
        assert_rising(
            rpm,
            &[
                "1.0~rc1", "1.0", "1.0^git1", "1.0a", "1.0.1", "1.2", "1.10", "1:0.1",
            ],
        );
        assert_eq!(rpm("1.0-1.el9", "1.0"), Ordering::Equal);
        assert_eq!(rpm("1.0-1.el9", "1.0-2.el9"), Ordering::Less);
        assert_eq!(rpm("1_0", "1.0"), Ordering::Equal);
    }

    #[test]
    fn early_releases_are_older() {
        assert_rising(
            plain,
            &["1.0_alpha1", "1.0_beta1", "1.0_rc1", "1.0", "1.0.1"],
        );
    }
}
