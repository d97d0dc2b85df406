//! A template's error in Salt's words.

use halite_jinja::{Error, ErrorKind as Jinja, Location};
use halite_yaml::{SourceLocation, Span};

use crate::error::{ErrorKind, RenderError, shortened};
use crate::limits::CONTEXT_LINES;

const MARKER: &str = "    <======================";

/// The error as Salt's renderer words it (`render_jinja_tmpl` of
/// `salt/utils/templates.py` and `SaltRenderError`, 3008). `name` and `text`
/// are those of the template at the top.
pub(super) fn render_error(error: &Error, name: &str, text: &str) -> RenderError {
    let problem = error.message();
    let location = error.location();
    let mut message = match error.kind() {
        Jinja::Undefined => format!("Jinja variable {problem}"),
        Jinja::Syntax
        | Jinja::Assertion
        | Jinja::Security
        | Jinja::Runtime
        | Jinja::FilterArgument => format!("Jinja syntax error: {problem}"),
        Jinja::Host => format!("Problem running salt function in Jinja template: {problem}"),
        _ => format!("Jinja error: {problem}"),
    };
    let told = line_in_salt(error);
    let here = told.filter(|location| location.name() == name);
    if here.is_none()
        && let Some(there) = told
    {
        message.push_str(&format!("\n{}({}):\n", there.name(), there.line()));
        message.push_str(&context(there.text(), there.line()));
    }
    let trace = message.starts_with("Jinja error: ").then(|| trace(error));
    if let Some(trace) = &trace {
        message.push_str(&format!("\n{trace}\n"));
    }
    if let Some(here) = here {
        let shown = match &trace {
            Some(trace) => context(&format!("{text}\n{trace}"), here.line()),
            None => context(text, here.line()),
        };
        message.push_str(&format!("; line {}\n\n{shown}", here.line()));
    }
    let kind = match error.kind() {
        Jinja::Limit => ErrorKind::Limit,
        _ => ErrorKind::Template,
    };
    let trail = error.trail().iter().map(|step| {
        let at = &step.location;
        format!(
            "in {}, {}:{}:{}",
            step.what,
            at.name(),
            at.line(),
            at.column()
        )
    });
    RenderError::new(kind, message)
        .at(location.map(place))
        .through(trail.collect())
}

/// Where Salt sees the error: of a template that runs it knows the statement,
/// whose first line it tells. The place of the error is closer.
fn line_in_salt(error: &Error) -> Option<&Location> {
    match error.kind() {
        Jinja::Syntax | Jinja::Assertion => error.location(),
        _ => error.statement().or_else(|| error.location()),
    }
}

fn place(location: &Location) -> SourceLocation {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    SourceLocation {
        file: location.name().to_owned(),
        span: Span {
            line: number(location.line()),
            column: number(location.column()),
        },
        line: location.line_text().into(),
        is_end: false,
    }
}

/// What stands where Python has its stack.
fn trace(error: &Error) -> String {
    let mut out = String::from("Traceback (most recent call last):\n");
    let steps = error.trail().iter().rev().map(|step| &step.location);
    let lines = steps
        .chain(line_in_salt(error))
        .map(|at| format!("  File \"{}\", line {}, in template", at.name(), at.line()));
    for line in shortened(lines.collect()) {
        out.push_str(&line);
        out.push('\n');
    }
    out.push_str(&format!("{}: {}\n", error.class_name(), error.message()));
    out
}

/// The lines around line `line`, which is marked (`get_context` of
/// `salt/utils/stringutils.py`).
fn context(text: &str, line: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if line == 0 || line > lines.len() {
        return text.to_owned();
    }
    let start = line.saturating_sub(CONTEXT_LINES + 1);
    let end = lines.len().min(line + CONTEXT_LINES);
    let mut out = String::from("---\n");
    if start > 0 {
        out.push_str("[...]\n");
    }
    for (index, text) in lines.iter().enumerate().take(end).skip(start) {
        out.push_str(text);
        if index + 1 == line {
            out.push_str(MARKER);
        }
        out.push('\n');
    }
    if end < lines.len() {
        out.push_str("[...]\n");
    }
    out.push_str("---");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_around_are_shown() {
        let text: String = (1..=20).map(|line| format!("l{line}\n")).collect();
        let shown = context(&text, 10);
        assert!(shown.starts_with("---\n[...]\nl5\n"), "{shown}");
        assert!(shown.contains("\nl10    <======================\nl11\n"));
        assert!(shown.ends_with("l15\n[...]\n---"));
        assert_eq!(
            context("a\nb", 1),
            "---\na    <======================\nb\n---"
        );
        assert_eq!(context("a", 357), "a");
    }
}
