//! What goes wrong with a template, and where. An error is made without a
//! place; the innermost expression that sees it pass adds the place, and every
//! macro, include and import that it leaves adds itself to the trail.

use std::fmt;
use std::sync::Arc;

use crate::source::{Source, Span};

/// The result of everything that evaluates.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of error it is; the names are those of Jinja2 and Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The template's text is no Jinja.
    Syntax,
    /// An unknown filter, test or block: found without running anything.
    Assertion,
    /// An undefined value was used.
    Undefined,
    /// Something the sandbox refuses.
    Security,
    /// A template said what can not be done.
    Runtime,
    /// A template that is not there.
    NotFound,
    /// A filter refused its arguments.
    FilterArgument,
    /// Python's `TypeError`.
    Type,
    /// Python's `ValueError`.
    Value,
    /// Python's `KeyError`.
    Key,
    /// Python's `IndexError`.
    Index,
    /// Python's `AttributeError`.
    Attribute,
    /// Python's `ZeroDivisionError`.
    ZeroDivision,
    /// Python's `OverflowError`; also integers beyond 128 bits.
    Overflow,
    /// Python's `UnicodeError` and its kin.
    Unicode,
    /// The template called `raise`.
    Raised,
    /// A Salt function, or anything else the caller supplies, failed.
    Host,
    /// What the caller supplies failed in a way that has no name here.
    Foreign,
    /// A limit of [`crate::Limits`] was reached.
    Limit,
}

impl ErrorKind {
    /// The name of the exception that Jinja2 or Python raises here.
    pub fn class_name(self) -> &'static str {
        match self {
            Self::Syntax => "TemplateSyntaxError",
            Self::Assertion => "TemplateAssertionError",
            Self::Undefined => "UndefinedError",
            Self::Security => "SecurityError",
            Self::Runtime => "TemplateRuntimeError",
            Self::NotFound => "TemplateNotFound",
            Self::FilterArgument => "FilterArgumentError",
            Self::Type => "TypeError",
            Self::Value => "ValueError",
            Self::Key => "KeyError",
            Self::Index => "IndexError",
            Self::Attribute => "AttributeError",
            Self::ZeroDivision => "ZeroDivisionError",
            Self::Overflow => "OverflowError",
            Self::Unicode => "UnicodeError",
            Self::Raised => "TemplateError",
            Self::Host => "CommandExecutionError",
            Self::Foreign => "Exception",
            Self::Limit => "RecursionError",
        }
    }
}

/// A place in a template, for people.
#[derive(Clone, Debug)]
pub struct Location {
    source: Arc<Source>,
    span: Span,
}

impl Location {
    /// The template's name.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.source.line_column(self.span).0
    }

    /// The column, from 1, in characters.
    pub fn column(&self) -> usize {
        self.source.line_column(self.span).1
    }

    /// The text of the line.
    pub fn line_text(&self) -> &str {
        self.source.line_text(self.span)
    }

    /// The text of the whole template.
    pub fn text(&self) -> &str {
        self.source.text()
    }
}

/// One step of the way to an error: an include, an import, a macro.
#[derive(Clone, Debug)]
pub struct TrailStep {
    /// What was entered, such as `macro 'm'`.
    pub what: String,
    /// Where it was entered.
    pub location: Location,
}

#[derive(Debug)]
struct Data {
    kind: ErrorKind,
    /// The class of a foreign exception, where it is known.
    class: Option<String>,
    message: String,
    location: Option<Location>,
    statement: Option<Location>,
    trail: Vec<TrailStep>,
}

/// A template that can not be read or rendered.
pub struct Error(Box<Data>);

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Data {
            kind,
            class: None,
            message: message.into(),
            location: None,
            statement: None,
            trail: Vec::new(),
        }))
    }

    /// A failure of what the caller supplies, in the caller's words.
    pub fn host(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Host, message)
    }

    /// A failure of what the caller supplies that is none of a command: Python
    /// would raise some other exception.
    pub fn foreign(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Foreign, message)
    }

    /// The same, of a class that the caller knows.
    pub fn of_class(class: impl Into<String>, message: impl Into<String>) -> Self {
        let mut error = Self::foreign(message);
        error.0.class = Some(class.into());
        error
    }

    /// A template error in the caller's words, such as text that is no YAML.
    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Runtime, message)
    }

    pub(crate) fn of_type(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Type, message)
    }

    pub(crate) fn of_value(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, message)
    }

    pub(crate) fn overflow(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Overflow, message)
    }

    pub(crate) fn long_text() -> Self {
        let most = crate::limits::TEXT_BYTES_MAX >> 20;
        Self::limit(format!("text is longer than {most} MiB"))
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// What kind of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The name of the exception that Python would raise here.
    pub fn class_name(&self) -> &str {
        let of_kind = || self.0.kind.class_name();
        self.0.class.as_deref().unwrap_or_else(of_kind)
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where, if a template's text is to blame.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }

    /// The statement that ran, if one did: Jinja2 knows no closer place. A tag
    /// of several lines has the error in its first one there.
    pub fn statement(&self) -> Option<&Location> {
        self.0.statement.as_ref()
    }

    /// How the render came there, innermost first.
    pub fn trail(&self) -> &[TrailStep] {
        &self.0.trail
    }

    /// Adds the place, unless a more precise one is known.
    pub(crate) fn at(mut self, source: &Arc<Source>, span: Span) -> Self {
        if self.0.location.is_none() {
            self.0.location = Some(Location {
                source: Arc::clone(source),
                span,
            });
        }
        self
    }

    /// Adds the statement, unless one within it is known.
    pub(crate) fn of_statement(mut self, source: &Arc<Source>, span: Span) -> Self {
        if self.0.statement.is_none() {
            self.0.statement = Some(Location {
                source: Arc::clone(source),
                span,
            });
        }
        self
    }

    pub(crate) fn through(mut self, what: String, source: &Arc<Source>, span: Span) -> Self {
        if self.0.trail.len() < TRAIL_MAX {
            self.0.trail.push(TrailStep {
                what,
                location: Location {
                    source: Arc::clone(source),
                    span,
                },
            });
        }
        self
    }

    /// The error with its line, a caret and the way to it: several lines.
    pub fn report(&self) -> String {
        let mut out = self.to_string();
        if let Some(location) = &self.0.location {
            let (line, column) = (location.line(), location.column());
            let number = line.to_string();
            let pad = " ".repeat(number.len());
            let text = location.line_text();
            let lead: String = text
                .chars()
                .take(column - 1)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            out.push_str(&format!("\n{pad} |\n{number} | {text}\n{pad} | {lead}^"));
        }
        for step in &self.0.trail {
            out.push_str(&format!(
                "\nin {}, {}:{}:{}",
                step.what,
                step.location.name(),
                step.location.line(),
                step.location.column()
            ));
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.0.location {
            write!(
                f,
                "{}:{}:{}: ",
                location.name(),
                location.line(),
                location.column()
            )?;
        }
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.0.kind, self.report())
    }
}

impl std::error::Error for Error {}

/// Steps of the trail that are kept; a recursion would fill the screen.
const TRAIL_MAX: usize = 16;
