//! The lengths of functions and files.
//!
//! A function that fills more than a screen does several things, and so does a file
//! of many screens. Those that are longer today are in `xtask/lengths.txt`, which
//! may only shrink: none of them may grow, and none may be added.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};

use super::source::{files, program};
use crate::build::root;

const LIST: &str = "xtask/lengths.txt";

const HEADER: &str = "\
# Files of more than 400 lines, `PATH: LINES`, and functions of more than 70,
# `PATH NAME: LINES`. Lines of a function are those with code on them. This list
# may only shrink; `cargo xtask lint --shrink` removes what is mended.

";

/// Where the code of the project is.
const PLACES: [&str; 3] = ["crates", "integration-tests/src", "xtask/src"];

/// Lines of a file, its tests included.
const FILE_LINES_MAX: usize = 400;

/// Lines of a function, its signature included, without comments and blank lines.
const FUNCTION_LINES_MAX: usize = 70;

/// What is too long: its lines by its name in the list.
type Lengths = BTreeMap<String, usize>;

/// What has grown beyond its length; and what is listed without need.
pub(super) fn check(shrink: bool) -> Result<Vec<String>> {
    let path = root().join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {LIST}"))?;
    let known = parse(&text)?;
    let found = find()?;
    let mut complaints = complaints(&found, &known);
    if complaints.is_empty() && shrink {
        fs::write(&path, listed(&found))?;
    } else if complaints.is_empty() && known.keys().any(|name| !found.contains_key(name)) {
        complaints.push(format!(
            "{LIST}: some are short now, but still listed: `cargo xtask lint --shrink`"
        ));
    }
    Ok(complaints)
}

fn find() -> Result<Lengths> {
    let mut all = Lengths::new();
    for place in PLACES {
        for file in files(&root().join(place))? {
            let path = file.strip_prefix(root()).unwrap_or(&file);
            let path = path.display().to_string();
            let text = fs::read_to_string(&file).with_context(|| path.clone())?;
            all.extend(too_long(&path, &text));
        }
    }
    Ok(all)
}

/// The file, if it is too long, and those of its functions that are.
fn too_long(path: &str, text: &str) -> Lengths {
    let mut found = Lengths::new();
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX {
        found.insert(path.to_owned(), lines);
    }
    for (name, lines) in functions(&program(text)) {
        if lines > FUNCTION_LINES_MAX {
            let longest = found.entry(format!("{path} {name}")).or_default();
            *longest = lines.max(*longest);
        }
    }
    found
}

/// The functions of a program with their lines.
fn functions(program: &str) -> Vec<(&str, usize)> {
    const KEYWORD: &str = "fn ";
    let mut found = Vec::new();
    for (at, _) in program.match_indices(KEYWORD) {
        let is_word = program[..at].ends_with(|char: char| char.is_alphanumeric() || char == '_');
        let item = &program[at..];
        let rest = &item[KEYWORD.len()..];
        let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        if is_word || name.is_empty() {
            continue;
        }
        let code = item[..length(item)].lines();
        found.push((name, code.filter(|line| !line.trim().is_empty()).count()));
    }
    found
}

/// How long a function is: to the end of its body, or to its semicolon if it has none.
fn length(item: &str) -> usize {
    let (mut braces, mut others) = (0_usize, 0_usize);
    for (at, char) in item.char_indices() {
        match char {
            '(' | '[' => others += 1,
            ')' | ']' => others = others.saturating_sub(1),
            '{' => braces += 1,
            '}' if braces <= 1 => return at + 1,
            '}' => braces -= 1,
            ';' if braces == 0 && others == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

fn complaints(found: &Lengths, known: &Lengths) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, lines) in found {
        let max = match (known.get(name), name.contains(' ')) {
            (Some(known), _) => *known,
            (None, true) => FUNCTION_LINES_MAX,
            (None, false) => FILE_LINES_MAX,
        };
        if *lines > max {
            complaints.push(format!(
                "{name}: {lines} lines, {max} is the most: what is a job of its own in there \
                 can be a function or a file of its own"
            ));
        }
    }
    complaints
}

/// Reads the list of what is too long.
fn parse(text: &str) -> Result<Lengths> {
    let mut known = Lengths::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts = line.split_once(": ");
        let Some((name, Ok(lines))) = parts.map(|(name, lines)| (name, lines.parse())) else {
            bail!("{LIST}:{number}: expected `PATH: LINES` or `PATH NAME: LINES`");
        };
        known.insert(name.to_owned(), lines);
    }
    Ok(known)
}

/// The list of these.
fn listed(found: &Lengths) -> String {
    let lines = found
        .iter()
        .map(|(name, lines)| format!("{name}: {lines}\n"));
    HEADER.to_owned() + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_code_count() {
        let text = "fn a(\n    x: [u8; 2],\n) -> fn(u8) {\n    // A comment.\n\n    b(\"}\");\n}\n\
            trait T { fn c(&self);\n fn d(&self) { fn e() {\n} } }\n\
            #[cfg(test)]\nmod tests { fn f() {} }\n";
        let program = program(text);
        let found = functions(&program);
        assert_eq!(found, [("a", 5), ("c", 1), ("d", 2), ("e", 2)]);
    }

    #[test]
    fn long_functions_and_files_are_found() {
        let body = |lines: usize| format!("fn a() {{\n{}}}\n", "b();\n".repeat(lines - 2));
        assert!(too_long("a.rs", &body(FUNCTION_LINES_MAX)).is_empty());
        let found = too_long("a.rs", &body(FUNCTION_LINES_MAX + 1));
        assert_eq!(found, Lengths::from([("a.rs a".to_owned(), 71)]));
        let found = too_long("a.rs", &"\n".repeat(FILE_LINES_MAX + 1));
        assert_eq!(found, Lengths::from([("a.rs".to_owned(), 401)]));
    }

    #[test]
    fn the_list_only_shrinks() {
        let known = parse("# a comment\n\na.rs: 410\na.rs b: 80\n").unwrap();
        assert_eq!(parse(&listed(&known)).unwrap(), known);
        for (name, lines, is_fine) in [
            ("a.rs", 410, true),
            ("a.rs", 411, false),
            ("a.rs b", 79, true),
            ("a.rs b", 81, false),
            ("a.rs c", 71, false),
            ("c.rs", 401, false),
        ] {
            let found = Lengths::from([(name.to_owned(), lines)]);
            let complaints = complaints(&found, &known);
            assert_eq!(complaints.is_empty(), is_fine, "{name} {lines}");
        }
        assert!(parse("a.rs\n").is_err());
    }
}
