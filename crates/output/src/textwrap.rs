//! Python's `textwrap.fill` with its defaults: white space becomes blanks, lines
//! break at blanks, after hyphens between letters and around dashes, and a word
//! longer than a line is cut.

use crate::python;

const WIDTH: usize = 80;
const TAB_STOP: usize = 8;

/// `text` in lines of at most 80 characters, each behind `indent` blanks.
pub(crate) fn fill(text: &str, indent: usize) -> String {
    let text = expand_tabs(text);
    let width = WIDTH.saturating_sub(indent).max(1);
    let mut chunks = chunks(&text);
    chunks.reverse();
    let mut lines = Vec::new();
    while !chunks.is_empty() {
        let first = lines.is_empty();
        if let Some(line) = take_line(&mut chunks, width, first) {
            lines.push(format!("{}{line}", " ".repeat(indent)));
        }
    }
    lines.join("\n")
}

/// Takes the chunks of one line from the end of `chunks`.
fn take_line(chunks: &mut Vec<Vec<char>>, width: usize, first: bool) -> Option<String> {
    if !first && chunks.last().is_some_and(|chunk| is_blank(chunk)) {
        chunks.pop();
    }
    let mut line: Vec<Vec<char>> = Vec::new();
    let mut used = 0;
    while let Some(chunk) = chunks.pop() {
        if used + chunk.len() <= width {
            used += chunk.len();
            line.push(chunk);
            continue;
        }
        if chunk.len() > width {
            let (now, later) = cut(&chunk, width - used);
            line.push(now);
            chunks.push(later);
        } else {
            chunks.push(chunk);
        }
        break;
    }
    if line.last().is_some_and(|chunk| is_blank(chunk)) {
        line.pop();
    }
    (!line.is_empty()).then(|| line.concat().into_iter().collect())
}

/// Cuts a word that fits no line, behind a hyphen where there is one.
fn cut(chunk: &[char], space: usize) -> (Vec<char>, Vec<char>) {
    let mut end = space;
    if chunk.len() > space {
        let hyphen = chunk[..space].iter().rposition(|char| *char == '-');
        if let Some(hyphen) = hyphen
            && hyphen > 0
            && chunk[..hyphen].iter().any(|char| *char != '-')
        {
            end = hyphen + 1;
        }
    }
    (chunk[..end].to_vec(), chunk[end..].to_vec())
}

fn is_blank(chunk: &[char]) -> bool {
    chunk.iter().all(|char| python::is_space(*char))
}

fn expand_tabs(text: &str) -> Vec<char> {
    let mut out = Vec::new();
    let mut column = 0;
    for char in text.chars() {
        match char {
            '\t' => {
                let blanks = TAB_STOP - column % TAB_STOP;
                out.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            '\n' | '\r' => {
                out.push(' ');
                column = 0;
            }
            '\x0b' | '\x0c' => {
                out.push(' ');
                column += 1;
            }
            _ => {
                out.push(char);
                column += 1;
            }
        }
    }
    out
}

/// The text in pieces between which a line may break.
fn chunks(text: &[char]) -> Vec<Vec<char>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = chunk_end(text, start);
        chunks.push(text[start..end].to_vec());
        start = end;
    }
    chunks
}

fn chunk_end(text: &[char], start: usize) -> usize {
    let run = |from: usize, wanted: &dyn Fn(char) -> bool| {
        text[from..]
            .iter()
            .take_while(|char| wanted(**char))
            .count()
    };
    if text[start] == ' ' {
        return start + run(start, &|char| char == ' ');
    }
    let dash = run(start, &|char| char == '-');
    if dash >= 2 && start > 0 && is_word_punct(text[start - 1]) && is_word_at(text, start + dash) {
        return start + dash;
    }
    for at in start + 1..text.len() {
        if text[at] == ' ' {
            return at;
        }
        if text[at - 1] == '-' && at - 1 > start && hyphen_breaks(text, at - 1) {
            return at;
        }
        let dash = run(at, &|char| char == '-');
        if dash >= 2 && is_word_punct(text[at - 1]) && is_word_at(text, at + dash) {
            return at;
        }
    }
    text.len()
}

/// Whether the hyphen at `at` joins letters on both sides.
fn hyphen_breaks(text: &[char], at: usize) -> bool {
    let behind = |offset: usize| at.checked_sub(offset).map(|at| text[at]);
    let ahead = |offset: usize| text.get(at + offset).copied();
    let letter = |char: Option<char>| char.is_some_and(is_letter);
    let joined_behind =
        letter(behind(1)) && (letter(behind(2)) || (behind(2) == Some('-') && letter(behind(3))));
    let joined_ahead =
        letter(ahead(1)) && (letter(ahead(2)) || (ahead(2) == Some('-') && letter(ahead(3))));
    joined_behind && joined_ahead
}

fn is_letter(char: char) -> bool {
    char == '_' || (char.is_alphanumeric() && !char.is_numeric())
}

fn is_word(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}

fn is_word_punct(char: char) -> bool {
    is_word(char) || matches!(char, '!' | '"' | '\'' | '&' | '.' | ',' | '?')
}

fn is_word_at(text: &[char], at: usize) -> bool {
    text.get(at).is_some_and(|char| is_word(*char))
}
