//! Messages for people, coloured on a terminal.

use std::io::{IsTerminal as _, stdout};

/// What a text is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    /// A heading.
    Bold,
    /// A command.
    Command,
    /// An aside.
    Dim,
    /// Good.
    Good,
    /// Bad.
    Bad,
}

/// The text with its colour if standard output is a terminal that wants it.
pub(crate) fn paint(style: Style, text: &str) -> String {
    if !stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some() {
        return text.to_owned();
    }
    let code = match style {
        Style::Bold => "1",
        Style::Command => "36",
        Style::Dim => "2",
        Style::Good => "32",
        Style::Bad => "31",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}
