//! The changes in a few lines, as `diff -u` shows them.

/// Lines around a change that are shown.
const CONTEXT: usize = 3;
/// Texts of more lines than this are shown as replaced as a whole.
const LINES_MAX: usize = 2000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Same,
    Old,
    New,
}

/// The lines of the difference.
pub(crate) fn unified(old: &[String], new: &[String]) -> String {
    let ops = operations(old, new);
    if ops.iter().all(|op| *op == Op::Same) {
        return String::new();
    }
    let mut lines = vec!["--- ".to_owned(), "+++ ".to_owned()];
    let changed: Vec<usize> = (0..ops.len()).filter(|at| ops[*at] != Op::Same).collect();
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for at in changed {
        let (start, end) = (
            at.saturating_sub(CONTEXT),
            (at + CONTEXT + 1).min(ops.len()),
        );
        match hunks.last_mut() {
            Some((_, last)) if start <= *last => *last = end,
            _ => hunks.push((start, end)),
        }
    }
    let count = |ops: &[Op], not: Op| ops.iter().filter(|op| **op != not).count();
    for (start, end) in hunks {
        let (mut at_old, mut at_new) =
            (count(&ops[..start], Op::New), count(&ops[..start], Op::Old));
        let hunk = &ops[start..end];
        lines.push(format!(
            "@@ -{} +{} @@",
            range(at_old, count(hunk, Op::New)),
            range(at_new, count(hunk, Op::Old))
        ));
        for op in hunk {
            let (sign, line) = match op {
                Op::Same | Op::Old => (if *op == Op::Same { ' ' } else { '-' }, &old[at_old]),
                Op::New => ('+', &new[at_new]),
            };
            lines.push(format!("{sign}{line}"));
            at_old += usize::from(*op != Op::New);
            at_new += usize::from(*op != Op::Old);
        }
    }
    lines.join("\n")
}

fn range(start: usize, count: usize) -> String {
    match count {
        0 => format!("{start},0"),
        1 => (start + 1).to_string(),
        count => format!("{},{count}", start + 1),
    }
}

/// Through the longest common subsequence.
fn operations(old: &[String], new: &[String]) -> Vec<Op> {
    if old.len() > LINES_MAX || new.len() > LINES_MAX {
        let all = std::iter::repeat_n(Op::Old, old.len());
        return all.chain(std::iter::repeat_n(Op::New, new.len())).collect();
    }
    let width = new.len() + 1;
    let mut best = vec![0usize; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            best[i * width + j] = if old[i] == new[j] {
                best[(i + 1) * width + j + 1] + 1
            } else {
                best[(i + 1) * width + j].max(best[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut ops) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            ops.push(Op::Same);
            i += 1;
            j += 1;
        } else if j == new.len()
            || (i < old.len() && best[(i + 1) * width + j] >= best[i * width + j + 1])
        {
            ops.push(Op::Old);
            i += 1;
        } else {
            ops.push(Op::New);
            j += 1;
        }
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_with_their_context() {
        let lines = |text: &str| -> Vec<String> { text.chars().map(String::from).collect() };
        assert_eq!(unified(&lines("abc"), &lines("abc")), "");
        assert_eq!(
            unified(&lines("abcdefgh"), &lines("abcdXfgh")),
            "--- \n+++ \n@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h"
        );
        assert_eq!(unified(&[], &lines("a")), "--- \n+++ \n@@ -0,0 +1 @@\n+a");
    }
}
