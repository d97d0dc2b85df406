//! Formats of log lines in Python's notation, `%(levelname)-8s`.

use std::fmt::Write;

use thiserror::Error;

use super::time::Moment;

/// A format that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FormatError {
    /// A `%` without what belongs to it.
    #[error("unfinished directive {0:?}; a percent sign itself is written %%")]
    Unfinished(String),
    /// A name that log lines do not have.
    #[error("log lines have no {0:?}")]
    UnknownField(String),
}

/// A read format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    parts: Vec<Part>,
    date_format: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field, Spec),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Level,
    ColorLevel,
    Message,
    ColorMessage,
    Name,
    ColorName,
    Line,
    Process,
    ColorProcess,
    Time,
    Milliseconds,
    Created,
    Path,
    File,
    Thread,
    /// What Salt knows of its jobs; our spans say it within the message.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Spec {
    left: bool,
    zero: bool,
    width: usize,
}

/// What a line is made of.
pub(super) struct Line<'a> {
    pub(super) level_name: &'static str,
    pub(super) target: &'a str,
    pub(super) line: u32,
    pub(super) file: &'a str,
    pub(super) message: &'a str,
}

/// Widest field that is honoured.
const WIDTH_MAX: usize = 200;

impl Format {
    /// Reads a format of lines and one of times (`strftime`).
    ///
    /// # Errors
    /// When a directive is unfinished or names what log lines do not have.
    pub fn parse(format: &str, date_format: &str) -> Result<Self, FormatError> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("%%") {
                text.push('%');
                rest = after;
                continue;
            }
            let (field, spec, after) = directive(rest)?;
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Field(field, spec));
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self {
            parts,
            date_format: date_format.to_owned(),
        })
    }

    pub(super) fn write(&self, into: &mut String, line: &Line<'_>) {
        let now = Moment::now();
        for part in &self.parts {
            match part {
                Part::Text(text) => into.push_str(text),
                Part::Field(field, spec) => self.write_field(into, *field, *spec, line, &now),
            }
        }
        into.push('\n');
    }

    fn write_field(
        &self,
        into: &mut String,
        field: Field,
        spec: Spec,
        line: &Line<'_>,
        now: &Moment,
    ) {
        let color = match line.level_name {
            "CRITICAL" => "\x1b[1;31m",
            "ERROR" => "\x1b[0;31m",
            "WARNING" => "\x1b[0;33m",
            "INFO" => "\x1b[0;32m",
            "DEBUG" => "\x1b[0;36m",
            _ => "\x1b[0;35m",
        };
        let colored = |into: &mut String, text: &str| {
            let _ = write!(into, "{color}{text}\x1b[0;0m");
        };
        match field {
            Field::Level => spec.write(into, line.level_name),
            Field::ColorLevel => colored(into, &format!("[{:<8}]", line.level_name)),
            Field::Message => spec.write(into, line.message),
            Field::ColorMessage => colored(into, line.message),
            Field::Name => spec.write(into, line.target),
            Field::ColorName => colored(into, &format!("[{:<17}]", line.target)),
            Field::Line => spec.write(into, &line.line.to_string()),
            Field::Process => spec.write(into, &std::process::id().to_string()),
            Field::ColorProcess => colored(into, &format!("[{:>5}]", std::process::id())),
            Field::Time => spec.write(into, &now.format(&self.date_format)),
            Field::Milliseconds => spec.write(into, &now.milliseconds().to_string()),
            Field::Created => {
                let text = format!("{}.{:03}", now.seconds(), now.milliseconds());
                spec.write(into, &text);
            }
            Field::Path => spec.write(into, line.file),
            Field::File => spec.write(into, line.file.rsplit('/').next().unwrap_or_default()),
            Field::Thread => spec.write(into, std::thread::current().name().unwrap_or("worker")),
            Field::Nothing => spec.write(into, ""),
        }
    }
}

impl Spec {
    fn write(self, into: &mut String, text: &str) {
        let missing = self.width.saturating_sub(text.chars().count());
        let fill = if self.zero && !self.left { '0' } else { ' ' };
        if !self.left {
            into.extend(std::iter::repeat_n(fill, missing));
        }
        into.push_str(text);
        if self.left {
            into.extend(std::iter::repeat_n(' ', missing));
        }
    }
}

/// Reads `%(name)-8s` at the start of `text`.
fn directive(text: &str) -> Result<(Field, Spec, &str), FormatError> {
    let unfinished = || FormatError::Unfinished(text.chars().take(24).collect());
    let (name, rest) = text
        .strip_prefix("%(")
        .and_then(|rest| rest.split_once(')'))
        .ok_or_else(unfinished)?;
    let kind = rest
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(unfinished)?;
    let (flags, rest) = rest.split_at(kind);
    if !rest.starts_with(['s', 'd', 'i', 'f', 'r']) {
        return Err(unfinished());
    }
    let digits = flags.trim_start_matches(['-', '0', '+', ' ', '#']);
    let width = digits.split('.').next().unwrap_or_default();
    let spec = Spec {
        left: flags.contains('-'),
        zero: flags.trim_start_matches('-').starts_with('0'),
        width: if width.is_empty() {
            0
        } else {
            width
                .parse::<usize>()
                .map_err(|_| unfinished())?
                .min(WIDTH_MAX)
        },
    };
    Ok((field(name)?, spec, &rest[1..]))
}

fn field(name: &str) -> Result<Field, FormatError> {
    Ok(match name {
        "levelname" => Field::Level,
        "colorlevel" => Field::ColorLevel,
        "message" => Field::Message,
        "colormsg" => Field::ColorMessage,
        "name" | "module" | "funcName" => Field::Name,
        "colorname" => Field::ColorName,
        "lineno" => Field::Line,
        "process" => Field::Process,
        "colorprocess" => Field::ColorProcess,
        "asctime" => Field::Time,
        "msecs" => Field::Milliseconds,
        "created" => Field::Created,
        "pathname" => Field::Path,
        "filename" => Field::File,
        "threadName" | "thread" | "processName" => Field::Thread,
        "jid" | "minion_id" | "bracketlevel" | "bracketname" | "bracketprocess"
        | "relativeCreated" | "levelno" => Field::Nothing,
        other => return Err(FormatError::UnknownField(other.to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(format: &str) -> String {
        let mut text = String::new();
        let line = Line {
            level_name: "WARNING",
            target: "salt.minion",
            line: 12,
            file: "src/a/b.rs",
            message: "hello",
        };
        Format::parse(format, "%Y").unwrap().write(&mut text, &line);
        text
    }

    #[test]
    fn lines_look_as_in_salt() {
        assert_eq!(write(super::super::CONSOLE_FORMAT), "[WARNING ] hello\n");
        assert_eq!(
            write("[%(name)-17s:%(lineno)-4d][%(levelname)-8s] %(message)s %(lineno)05d 100%%"),
            "[salt.minion      :12  ][WARNING ] hello 00012 100%\n"
        );
        assert_eq!(write("%(filename)s"), "b.rs\n");
        assert_eq!(write("%(colormsg)s"), "\x1b[0;33mhello\x1b[0;0m\n");
    }

    #[test]
    fn bad_formats_are_said() {
        for (format, message) in [
            (
                "%(levelname",
                "unfinished directive \"%(levelname\"; a percent sign itself is written %%",
            ),
            (
                "100%",
                "unfinished directive \"%\"; a percent sign itself is written %%",
            ),
            ("%(nope)s", "log lines have no \"nope\""),
            (
                "%(name)99999999999999999999s",
                "unfinished directive \"%(name)99999999999999999\"; a percent sign itself is written %%",
            ),
        ] {
            let error = Format::parse(format, "").unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
