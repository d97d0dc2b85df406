//! The nearest known name to a misspelt one.

/// The name among `names` that is nearest to `wrong`, if it is near enough to
/// have been meant.
pub(crate) fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let wrong = wrong.to_ascii_lowercase().replace('-', "_");
    let most = (wrong.chars().count() / 3).clamp(1, 3);
    names
        .map(|name| (distance(&wrong, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many characters have to be put in, left out, changed or swapped with
/// their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = last[j] + usize::from(x != y);
            let mut best = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let names = ["publish_port", "ret_port", "interface", "id"];
        let find = |wrong| nearest(wrong, names.into_iter());
        assert_eq!(find("pubilsh_port"), Some("publish_port"));
        assert_eq!(find("publish-port"), Some("publish_port"));
        assert_eq!(find("intreface"), Some("interface"));
        assert_eq!(find("colour"), None);
        assert_eq!(find("ids"), Some("id"));
    }
}
