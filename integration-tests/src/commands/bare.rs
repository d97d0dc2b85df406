//! Texts without the parts that change from run to run, or with each release.

/// Digits of a job id.
const JID_LEN: usize = 20;

/// Where Python begins to tell which way an error has come.
const TRACEBACK: &str = "Traceback (most recent call last):";

/// What stands for the way.
const LEFT_OUT: &str = "...";

/// Without job ids, times, durations, process ids and lines of Salt's code.
pub(super) fn bare(text: &str) -> String {
    without_frames(&without_pids(&without_numbers(text)))
}

/// Without the frames of tracebacks: which files and lines they name belongs
/// to an installation, and the code in them is not ours to show.
fn without_frames(text: &str) -> String {
    let mut in_frames = false;
    let mut kept: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if in_frames && (line.starts_with("  ") || line == LEFT_OUT) {
            continue;
        }
        in_frames = line.trim_end().ends_with(TRACEBACK);
        kept.push(line);
        if in_frames {
            kept.push(LEFT_OUT);
        }
    }
    kept.join("\n")
}

/// Without what Python says of Salt's own code, a line and the code below it.
pub(super) fn without_warnings(text: &str) -> String {
    let mut lines = text.lines();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if line.contains("DeprecationWarning") {
            lines.next();
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Without what colours a line.
fn without_colors(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        bare.push_str(part.split_once('m').map_or(part, |(_, text)| text));
    }
    bare
}

/// Without the process ids that stand below their name.
fn without_pids(text: &str) -> String {
    let mut is_pid = false;
    let lines = text.split('\n').map(|line| {
        let bare = without_colors(line);
        let is_number = is_pid && bare.trim().bytes().all(|byte| byte.is_ascii_digit());
        is_pid = bare.trim() == "pid:";
        match is_number {
            true => format!("{}<pid>", " ".repeat(line.len() - line.trim_start().len())),
            false => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Without job ids, times of the day and durations.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        if !char.is_ascii_digit() {
            out.push(char);
            rest = rest.get(char.len_utf8()..).unwrap_or_default();
            continue;
        }
        let is_part = |char: char| char.is_ascii_digit() || char == ':' || char == '.';
        let end = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        if digits == JID_LEN && !number.contains([':', '.']) {
            out.push_str("<jid>");
        } else if number.matches(':').count() == 2 && digits >= 6 {
            out.push_str("<time>");
        } else if after.starts_with(" ms") || after.starts_with(" s\n") {
            // Columns are filled up to it, and its unit is part of it.
            out.truncate(out.trim_end_matches(' ').len());
            out.push_str(" <duration>");
            rest = after.trim_start_matches([' ', 'm', 's']);
            continue;
        } else {
            out.push_str(number);
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn frames_of_tracebacks_are_left_out() {
        let text = "x\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n    f(\n    ^^\nTypeError: no\n  y";
        let left = "x\nTraceback (most recent call last):\n...\nTypeError: no\n  y";
        assert_eq!(bare(text), left);
        assert_eq!(bare(left), left);
        let behind = "it failed: Traceback (most recent call last):\n  File \"a.py\"\nKeyError: x";
        assert_eq!(
            bare(behind),
            "it failed: Traceback (most recent call last):\n...\nKeyError: x"
        );
    }
}
