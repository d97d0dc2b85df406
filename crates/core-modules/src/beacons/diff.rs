//! The difference of two short lists of lines, as Python's
//! `difflib.unified_diff` writes it.

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Lines that are compared; longer lists are shown as wholly replaced.
const LINES_MAX: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Same(usize, usize),
    Gone(usize),
    New(usize),
}

/// The lines that are in both, by the longest common sequence.
fn steps(old: &[String], new: &[String]) -> Vec<Step> {
    let (rows, columns) = (old.len(), new.len());
    if rows > LINES_MAX || columns > LINES_MAX {
        let gone = (0..rows).map(Step::Gone);
        return gone.chain((0..columns).map(Step::New)).collect();
    }
    let width = columns + 1;
    let mut longest = vec![0u16; (rows + 1) * width];
    let at = |row: usize, column: usize| row * width + column;
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            longest[at(row, column)] = match old[row] == new[column] {
                true => longest[at(row + 1, column + 1)] + 1,
                false => longest[at(row + 1, column)].max(longest[at(row, column + 1)]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut steps = Vec::new();
    while row < rows || column < columns {
        if row < rows && column < columns && old[row] == new[column] {
            steps.push(Step::Same(row, column));
            row += 1;
            column += 1;
        } else if column == columns
            || row < rows && longest[at(row + 1, column)] >= longest[at(row, column + 1)]
        {
            steps.push(Step::Gone(row));
            row += 1;
        } else {
            steps.push(Step::New(column));
            column += 1;
        }
    }
    steps
}

/// `start,count`, counted from 1, as the headers have it.
fn range(start: usize, count: usize) -> String {
    match count {
        1 => (start + 1).to_string(),
        0 => format!("{start},0"),
        count => format!("{},{count}", start + 1),
    }
}

/// The difference; empty if there is none.
pub(super) fn unified(old: &[String], new: &[String]) -> String {
    let steps = steps(old, new);
    let is_change = |step: &Step| !matches!(step, Step::Same(..));
    let changed: Vec<usize> = (0..steps.len())
        .filter(|index| steps.get(*index).is_some_and(is_change))
        .collect();
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for index in changed {
        let from = index.saturating_sub(CONTEXT);
        let to = (index + CONTEXT + 1).min(steps.len());
        match hunks.last_mut() {
            Some((_, end)) if from <= *end => *end = to,
            _ => hunks.push((from, to)),
        }
    }
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = "--- \n+++ \n".to_owned();
    for (from, to) in hunks {
        let before = steps.get(..from).unwrap_or_default();
        let count = |steps: &[Step], keep: fn(&Step) -> bool| {
            steps.iter().filter(|step| keep(step)).count()
        };
        let of_old: fn(&Step) -> bool = |step| !matches!(step, Step::New(_));
        let of_new: fn(&Step) -> bool = |step| !matches!(step, Step::Gone(_));
        let hunk = steps.get(from..to).unwrap_or_default();
        text.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(count(before, of_old), count(hunk, of_old)),
            range(count(before, of_new), count(hunk, of_new))
        ));
        for step in hunk {
            let (sign, line) = match *step {
                Step::Same(row, _) => (' ', old.get(row)),
                Step::Gone(row) => ('-', old.get(row)),
                Step::New(column) => ('+', new.get(column)),
            };
            text.push(sign);
            text.push_str(line.map(String::as_str).unwrap_or_default());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.chars().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn differences_are_pythons() {
        assert_eq!(
            unified(&lines("abc"), &lines("abd")),
            "--- \n+++ \n@@ -1,3 +1,3 @@\n a\n b\n-c\n+d\n"
        );
        assert_eq!(
            unified(&lines(""), &lines("a")),
            "--- \n+++ \n@@ -0,0 +1 @@\n+a\n"
        );
        assert_eq!(unified(&lines("abc"), &lines("abc")), "");
        assert_eq!(
            unified(&lines("abcdefghijk"), &lines("Xbcdefghijk")),
            "--- \n+++ \n@@ -1,4 +1,4 @@\n-a\n+X\n b\n c\n d\n"
        );
    }
}
