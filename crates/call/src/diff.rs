//! Differences of texts, line for line as Python's `difflib` finds and writes
//! them.

use std::collections::HashMap;
use std::ops::Range;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// From this many lines on, lines that are everywhere are no anchors.
const POPULAR_FROM: usize = 200;

/// `''.join(difflib.unified_diff(old, new, from, to))`, for lines with their
/// ends.
pub fn unified(old: &[&str], new: &[&str], from: &str, to: &str) -> String {
    unified_lines(old, new, from, to).concat()
}

/// `difflib.unified_diff(old, new, from, to)`.
pub fn unified_lines(old: &[&str], new: &[&str], from: &str, to: &str) -> Vec<String> {
    let mut out = Vec::new();
    for group in grouped(opcodes(old, new)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        if out.is_empty() {
            out.push(format!("--- {from}\n"));
            out.push(format!("+++ {to}\n"));
        }
        out.push(format!(
            "@@ -{} +{} @@\n",
            range_text(first.old.start..last.old.end),
            range_text(first.new.start..last.new.end)
        ));
        for code in &group {
            if code.equal {
                out.extend(old[code.old.clone()].iter().map(|line| format!(" {line}")));
                continue;
            }
            out.extend(old[code.old.clone()].iter().map(|line| format!("-{line}")));
            out.extend(new[code.new.clone()].iter().map(|line| format!("+{line}")));
        }
    }
    out
}

fn range_text(range: Range<usize>) -> String {
    match range.len() {
        1 => (range.start + 1).to_string(),
        0 => format!("{},0", range.start),
        length => format!("{},{length}", range.start + 1),
    }
}

/// A stretch of lines: the same in both, or others.
#[derive(Clone, Debug)]
struct Code {
    equal: bool,
    old: Range<usize>,
    new: Range<usize>,
}

fn opcodes(old: &[&str], new: &[&str]) -> Vec<Code> {
    let mut codes = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (a, b, size) in matching_blocks(old, new) {
        if i < a || j < b {
            codes.push(Code {
                equal: false,
                old: i..a,
                new: j..b,
            });
        }
        (i, j) = (a + size, b + size);
        if size > 0 {
            codes.push(Code {
                equal: true,
                old: a..i,
                new: b..j,
            });
        }
    }
    codes
}

fn grouped(mut codes: Vec<Code>) -> Vec<Vec<Code>> {
    if let Some(first) = codes.first_mut().filter(|code| code.equal) {
        first.old.start = first
            .old
            .start
            .max(first.old.end.saturating_sub(CONTEXT_LINES));
        first.new.start = first
            .new
            .start
            .max(first.new.end.saturating_sub(CONTEXT_LINES));
    }
    if let Some(last) = codes.last_mut().filter(|code| code.equal) {
        last.old.end = last.old.end.min(last.old.start + CONTEXT_LINES);
        last.new.end = last.new.end.min(last.new.start + CONTEXT_LINES);
    }
    let mut groups = Vec::new();
    let mut group: Vec<Code> = Vec::new();
    for mut code in codes {
        if code.equal && code.old.len() > 2 * CONTEXT_LINES {
            let mut head = code.clone();
            head.old.end = head.old.end.min(head.old.start + CONTEXT_LINES);
            head.new.end = head.new.end.min(head.new.start + CONTEXT_LINES);
            group.push(head);
            groups.push(std::mem::take(&mut group));
            code.old.start = code.old.start.max(code.old.end - CONTEXT_LINES);
            code.new.start = code.new.start.max(code.new.end - CONTEXT_LINES);
        }
        group.push(code);
    }
    if !(group.is_empty() || group.len() == 1 && group[0].equal) {
        groups.push(group);
    }
    groups
}

/// `SequenceMatcher`: the longest match first, then what is left and right of
/// it.
struct Matcher {
    old: Vec<usize>,
    new: Vec<usize>,
    /// Where a line is in the new text; lines that are everywhere have no
    /// places.
    places: Vec<Vec<usize>>,
    lengths: Vec<usize>,
    next_lengths: Vec<usize>,
}

fn matching_blocks(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let mut matcher = Matcher::new(old, new);
    let mut queue = vec![(0, old.len(), 0, new.len())];
    let mut blocks = Vec::new();
    while let Some((alo, ahi, blo, bhi)) = queue.pop() {
        let (i, j, size) = matcher.longest(alo, ahi, blo, bhi);
        if size > 0 {
            blocks.push((i, j, size));
            if alo < i && blo < j {
                queue.push((alo, i, blo, j));
            }
            if i + size < ahi && j + size < bhi {
                queue.push((i + size, ahi, j + size, bhi));
            }
        }
    }
    blocks.sort_unstable();
    let mut joined: Vec<(usize, usize, usize)> = Vec::new();
    for (i, j, size) in blocks {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == i && last.1 + last.2 == j => last.2 += size,
            _ => joined.push((i, j, size)),
        }
    }
    joined.push((old.len(), new.len(), 0));
    joined
}

impl Matcher {
    fn new(old: &[&str], new: &[&str]) -> Self {
        let mut ids: HashMap<String, usize> = HashMap::new();
        let mut id = |line: &&str| {
            let next = ids.len();
            *ids.entry((*line).to_owned()).or_insert(next)
        };
        let old: Vec<usize> = old.iter().map(&mut id).collect();
        let new: Vec<usize> = new.iter().map(&mut id).collect();
        let mut places = vec![Vec::new(); ids.len()];
        for (j, line) in new.iter().enumerate() {
            places[*line].push(j);
        }
        if new.len() >= POPULAR_FROM {
            let often = new.len() / 100 + 1;
            for line in &mut places {
                if line.len() > often {
                    line.clear();
                }
            }
        }
        let lengths = vec![0; new.len() + 1];
        Self {
            next_lengths: lengths.clone(),
            lengths,
            old,
            new,
            places,
        }
    }

    fn longest(&mut self, alo: usize, ahi: usize, blo: usize, bhi: usize) -> (usize, usize, usize) {
        let (mut i0, mut j0, mut size) = (alo, blo, 0);
        let mut touched: Vec<usize> = Vec::new();
        for i in alo..ahi {
            let mut next_touched = Vec::new();
            for &j in &self.places[self.old[i]] {
                if j < blo {
                    continue;
                }
                if j >= bhi {
                    break;
                }
                // `lengths` is shifted by one, so that j - 1 is never negative.
                let length = self.lengths[j] + 1;
                self.next_lengths[j + 1] = length;
                next_touched.push(j + 1);
                if length > size {
                    (i0, j0, size) = (i + 1 - length, j + 1 - length, length);
                }
            }
            for at in touched {
                self.lengths[at] = 0;
            }
            touched = next_touched;
            std::mem::swap(&mut self.lengths, &mut self.next_lengths);
        }
        for at in touched {
            self.lengths[at] = 0;
        }
        while i0 > alo && j0 > blo && self.old[i0 - 1] == self.new[j0 - 1] {
            (i0, j0, size) = (i0 - 1, j0 - 1, size + 1);
        }
        while i0 + size < ahi && j0 + size < bhi && self.old[i0 + size] == self.new[j0 + size] {
            size += 1;
        }
        (i0, j0, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Vec<&str> {
        text.split_inclusive('\n').collect()
    }

    fn check(old: &str, new: &str, want: &str) {
        assert_eq!(unified(&kept(old), &kept(new), "", ""), want);
    }

    #[test]
    fn differences_are_written_as_difflib_writes_them() {
        check("a\n", "a\n", "");
        check("", "a\nb\n", "--- \n+++ \n@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("x\n", "", "--- \n+++ \n@@ -1 +0,0 @@\n-x\n");
        check(
            "one\ntwo\nthree\n",
            "one\n2\nthree",
            "--- \n+++ \n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+three",
        );
    }

    #[test]
    fn far_apart_changes_are_two_groups() {
        let old: String = (0..20).map(|n| format!("{n}\n")).collect();
        let new = old.replacen("2\n", "two\n", 1).replace("18\n", "");
        let diff = unified(&kept(&old), &kept(&new), "a", "b");
        assert_eq!(diff.matches("@@ -").count(), 2, "{diff}");
        assert!(diff.starts_with("--- a\n+++ b\n@@ -1,6 +1,6 @@\n 0\n 1\n-2\n+two\n"));
    }

    #[test]
    fn lines_that_are_everywhere_are_no_anchors() {
        let old: Vec<String> = (0..400).map(|n| format!("line {}\n", n % 37)).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let new = &old[7..390];
        let diff = unified_lines(&old, new, "", "");
        assert_eq!(diff[2], "@@ -1,400 +1,383 @@\n");
    }
}
