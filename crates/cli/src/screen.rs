//! Standard output and error: the only place that writes to them.
//!
//! A reader that goes away (`| head`) ends the output silently, as people expect of
//! a filter; it is no error of the command. Any other reason that keeps a text from
//! being written, such as a full disk, is reported at the end, and fails the
//! program: a lost result must not look like a delivered one.
//!
//! Invariant: on a terminal, output can only be text and colours, whatever minions
//! return.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use halite_proto::shown::for_terminal;

use crate::Exit;

/// Whether to colour, as the options and the configuration say it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColorWish {
    /// `--force-color`.
    pub force: bool,
    /// `--no-color`, or `color: False` in the configuration.
    pub never: bool,
}

impl ColorWish {
    /// Whether to colour: forced, or wished for by a terminal. `no_color` is
    /// the variable `NO_COLOR`, which counts if it is set and not empty.
    pub fn decide(self, is_terminal: bool, no_color: Option<&str>) -> bool {
        let refused = self.never || no_color.is_some_and(|value| !value.is_empty());
        self.force || (is_terminal && !refused)
    }
}

/// Where a program's texts go.
pub struct Screen<'a> {
    out: Box<dyn Write + 'a>,
    err: Box<dyn Write + 'a>,
    is_terminal: bool,
    has_status_line: bool,
    /// Lines at the end that are in place of those to come.
    status: Vec<String>,
    /// What could not be written and why, the first time.
    failure: Option<String>,
}

/// Columns and rows of a terminal that does not tell.
const SIZE_DEFAULT: (usize, usize) = (80, 24);

impl Screen<'static> {
    /// The process's own standard output and error.
    pub fn standard() -> Self {
        let out = io::stdout();
        let is_terminal = out.is_terminal();
        Self {
            out: Box::new(out),
            err: Box::new(io::stderr()),
            is_terminal,
            has_status_line: io::stderr().is_terminal(),
            status: Vec::new(),
            failure: None,
        }
    }
}

impl<'a> Screen<'a> {
    /// Texts go to these writers, which are no terminal.
    pub fn to_writers(out: impl Write + 'a, err: impl Write + 'a) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            is_terminal: false,
            has_status_line: false,
            status: Vec::new(),
            failure: None,
        }
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Whether a status line can be shown: standard error is a terminal.
    pub fn has_status_line(&self) -> bool {
        self.has_status_line
    }

    /// Columns and rows of the terminal of the status lines.
    pub fn size(&self) -> (usize, usize) {
        let known = terminal_size::terminal_size_of(io::stderr());
        known.map_or(SIZE_DEFAULT, |(width, height)| {
            (usize::from(width.0), usize::from(height.0))
        })
    }

    /// Shows lines in place of those before; none take them away. What does
    /// not fit into the terminal is cut off.
    pub fn status(&mut self, lines: &[String]) {
        let (width, _) = self.size();
        let shown: Vec<String> = lines
            .iter()
            .map(|line| cut(&for_terminal(line), width.saturating_sub(1)))
            .collect();
        if shown == self.status {
            return;
        }
        let up = match self.status.len() {
            0 | 1 => String::new(),
            lines => format!("\x1b[{}A", lines - 1),
        };
        self.write_error(&format!("\r{up}\x1b[J{}", shown.join("\n")));
        self.status = shown;
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) {
        self.text(&format!("{text}\n"));
    }

    /// Writes a rendered value: nothing at all if it is empty.
    pub fn rendered(&mut self, text: &str) {
        // It may be large: no copy with a line's end behind it is made.
        if !text.is_empty() {
            let shown = self.shown(text);
            let written = self.out.write_all(shown.as_bytes());
            self.record_failure(written);
            self.text("\n");
        }
    }

    fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.is_terminal {
            true => for_terminal(text),
            false => Cow::Borrowed(text),
        }
    }

    /// Writes text and shows it at once.
    pub fn text(&mut self, text: &str) {
        let shown = self.shown(text);
        let written = self.out.write_all(shown.as_bytes());
        let written = written.and_then(|()| self.out.flush());
        self.record_failure(written);
    }

    fn record_failure(&mut self, written: io::Result<()>) {
        if let Err(error) = written
            // The reader's own wish.
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost(format!("could not write to the standard output: {error}"));
        }
    }

    /// Notes that something could not be shown; it is told at the end.
    pub fn lost(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// How the program ends that would end so: as failed, if something that
    /// was to be shown could not be.
    pub fn close(&mut self, exit: Exit) -> Exit {
        let Some(why) = self.failure.take() else {
            return exit;
        };
        self.error_line(&why);
        match exit {
            Exit::Ok => Exit::Failure,
            other => other,
        }
    }

    /// Writes a line to standard error.
    pub fn error_line(&mut self, text: &str) {
        self.error_text(&format!("{text}\n"));
    }

    /// Writes text to standard error.
    pub fn error_text(&mut self, text: &str) {
        match self.has_status_line {
            true => self.write_error(&for_terminal(text)),
            false => self.write_error(text),
        }
    }

    fn write_error(&mut self, text: &str) {
        let _ = self.err.write_all(text.as_bytes());
        let _ = self.err.flush();
    }
}

/// A line of at most so many characters; that it was longer is seen.
fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        None => line.to_owned(),
        Some(_) if most == 0 => String::new(),
        Some(_) => line.chars().take(most - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_too_long_end_with_dots() {
        assert_eq!(cut("0 of 3", 6), "0 of 3");
        assert_eq!(cut("0 of 3 antworten", 6), "0 of …");
        assert_eq!(cut("日本語日本語", 4), "日本語…");
        assert_eq!((cut("x", 0), cut("xy", 1)), (String::new(), "…".to_owned()));
    }

    /// Takes nothing, for a reason.
    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn what_could_not_be_written_fails_the_program() {
        for (kind, exit) in [
            (io::ErrorKind::StorageFull, Exit::Failure),
            (io::ErrorKind::BrokenPipe, Exit::Ok),
        ] {
            let mut told = Vec::new();
            let mut screen = Screen::to_writers(Refusing(kind), &mut told);
            screen.line("a");
            screen.rendered("b");
            assert_eq!(screen.close(Exit::Ok), exit);
            assert_eq!(screen.close(Exit::Ok), Exit::Ok, "it is told once");
            drop(screen);
            assert_eq!(told.is_empty(), exit == Exit::Ok);
        }
        let mut screen = Screen::to_writers(Refusing(io::ErrorKind::StorageFull), io::sink());
        screen.line("a");
        assert_eq!(screen.close(Exit::NoReturn), Exit::NoReturn);
    }

    #[test]
    fn a_terminal_is_shown_nothing_that_commands_it() {
        let evil = "web1:\n    \x1b[2J\x1b]0;x\x07\x1b[0;32mok";
        for (is_terminal, expected) in [(false, evil), (true, "web1:\n    ?[2J?]0;x?\x1b[0;32mok")]
        {
            let (mut out, mut told) = (Vec::new(), Vec::new());
            let mut screen = Screen::to_writers(&mut out, &mut told);
            screen.is_terminal = is_terminal;
            screen.has_status_line = is_terminal;
            screen.rendered(evil);
            screen.error_line(evil);
            drop(screen);
            for shown in [out, told] {
                assert_eq!(String::from_utf8(shown).unwrap(), format!("{expected}\n"));
            }
        }
    }

    #[test]
    fn colours_respect_pipes_options_and_the_environment() {
        let wish = ColorWish::default();
        assert!(wish.decide(true, None));
        assert!(wish.decide(true, Some("")));
        assert!(!wish.decide(false, None));
        assert!(!wish.decide(true, Some("1")));
        let never = ColorWish {
            never: true,
            ..wish
        };
        assert!(!never.decide(true, None));
        let force = ColorWish {
            force: true,
            never: true,
        };
        assert!(force.decide(false, Some("1")));
    }
}
