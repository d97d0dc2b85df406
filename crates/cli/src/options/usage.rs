//! Parses a command line, and reports mistakes in Salt's form: the usage line, then
//! `program: error: ...`, exit code 64.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::{Exit, Screen, version};

/// A program's options: what all of them have in common.
pub trait Program: clap::Parser {
    /// The program's name.
    const NAME: &'static str;

    /// What stands behind the name in the usage line.
    const USAGE: &'static str = "[options]";

    /// The options that every program has.
    fn common(&self) -> &super::CommonOptions;

    /// Whether standard input has more options and words.
    fn reads_stdin(&self) -> bool {
        false
    }

    /// An option that was given and is not honoured, as it is written, and why.
    fn unsupported(&self) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// The program ends here: what it says and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub exit: Exit,
}

impl Stop {
    /// A usage error of the program `P`.
    pub fn usage<P: Program>(message: &str) -> Self {
        Self {
            stdout: String::new(),
            stderr: format!(
                "Usage: {name} {usage}\n\n{name}: error: {message}\n",
                name = P::NAME,
                usage = P::USAGE
            ),
            exit: Exit::Usage,
        }
    }

    /// Says it.
    pub fn show(self, screen: &mut Screen) -> Exit {
        screen.text(&self.stdout);
        screen.error_text(&self.stderr);
        self.exit
    }
}

/// Reads the command line of the program `P`, without the program's name.
///
/// # Errors
/// When the program ends here: an error, or `--help` or `--version` was given.
pub fn parse<P: Program>(words: impl IntoIterator<Item = OsString>) -> Result<P, Stop> {
    let words: Vec<OsString> = words.into_iter().collect();
    let line = std::iter::once(OsString::from(P::NAME)).chain(words.iter().cloned());
    let parsed = match P::try_parse_from(line) {
        Ok(parsed) => parsed,
        Err(error) => return Err(stop::<P>(&error, &words)),
    };
    let common = parsed.common();
    if common.version {
        return Err(shown(format!("{}\n", version::line(P::NAME))));
    }
    if common.versions_report {
        return Err(shown(version::report()));
    }
    if let Some((option, why)) = parsed.unsupported() {
        return Err(Stop::usage::<P>(&format!(
            "{option} is not supported: {why}"
        )));
    }
    Ok(parsed)
}

/// The whole help text of the program `P`.
pub(super) fn help<P: Program>() -> String {
    P::command().render_help().to_string()
}

fn shown(stdout: String) -> Stop {
    Stop {
        stdout,
        stderr: String::new(),
        exit: Exit::Ok,
    }
}

fn stop<P: Program>(error: &clap::Error, words: &[OsString]) -> Stop {
    if error.kind() == ErrorKind::DisplayHelp {
        return shown(error.render().to_string());
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let argument = text(ContextKind::InvalidArg);
    let option = argument.split([' ', '=']).next().unwrap_or(&argument);
    let option = &as_typed::<P>(option, words);
    let value = text(ContextKind::InvalidValue);
    let message = match error.kind() {
        ErrorKind::UnknownArgument => format!("no such option: {option}"),
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{option} option requires 1 argument")
        }
        ErrorKind::InvalidValue => {
            let choices = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(choices)) => choices.join("', '"),
                _ => String::new(),
            };
            format!("option {option}: invalid choice: '{value}' (choose from '{choices}')")
        }
        ErrorKind::ValueValidation => format!("option {option}: {}", invalid(error, &value)),
        ErrorKind::TooManyValues => format!("{option} option does not take a value"),
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8 text".to_owned(),
        _ => first_line(&error.render().to_string()),
    };
    Stop::usage::<P>(&message)
}

/// An option in the form it was given in: the short one, unless the long one or
/// its beginning stands among the words.
fn as_typed<P: Program>(option: &str, words: &[OsString]) -> String {
    let words = words.iter().filter_map(|word| word.to_str());
    let mut names = words
        .take_while(|word| *word != "--")
        .filter_map(|word| word.split('=').next());
    if names.any(|name| name.len() > 2 && option.starts_with(name)) {
        return option.to_owned();
    }
    let command = P::command();
    let argument = command
        .get_arguments()
        .find(|argument| argument.get_long() == option.strip_prefix("--"));
    argument
        .and_then(clap::Arg::get_short)
        .map_or_else(|| option.to_owned(), |short| format!("-{short}"))
}

/// What is wrong with a value, in the words of Python's `optparse`.
fn invalid(error: &clap::Error, value: &str) -> String {
    let source = std::error::Error::source(error);
    let reason = source.map(ToString::to_string).unwrap_or_default();
    if reason.contains("digit") || reason.contains("not in") {
        format!("invalid integer value: '{value}'")
    } else if reason.contains("float") {
        format!("invalid floating-point value: '{value}'")
    } else {
        reason
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
