//! Errors of rendering: Salt's message, which scripts read, and the position in the
//! file.

use std::fmt;

use halite_yaml::{SourceLocation, YamlError};

use crate::limits::TRAIL_ENDS;
use crate::texts::offset_of;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A template: its text, what it uses, what it calls.
    Template,
    /// Text that is no YAML, no JSON, no UTF-8.
    Data,
    /// A renderer that is not there, or whose program is not.
    Renderer,
    /// Encrypted text that cannot be read.
    Decrypt,
    /// Python code that failed.
    Python,
    /// A limit of this crate, of templates or of YAML.
    Limit,
}

/// A text that is not rendered. Prints in Salt's words; [`Self::report`] adds
/// the place.
#[derive(Clone, Debug)]
pub struct RenderError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    /// Salt raises no `SaltRenderError` here, but what Python raised: the
    /// name of that.
    foreign: Option<&'static str>,
    /// Python's traceback of that, where there is one.
    trace: Option<String>,
    /// The message in one line, where its first line is not that.
    brief: Option<String>,
    place: Option<SourceLocation>,
    trail: Vec<String>,
}

impl RenderError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            foreign: None,
            trace: None,
            brief: None,
            place: None,
            trail: Vec::new(),
        }))
    }

    pub(crate) fn at(mut self, place: Option<SourceLocation>) -> Self {
        self.0.place = self.0.place.take().or(place);
        self
    }

    /// The same error at another place, which is better known.
    pub(crate) fn moved(mut self, place: SourceLocation) -> Self {
        self.0.place = Some(place);
        self
    }

    pub(crate) fn through(mut self, trail: Vec<String>) -> Self {
        self.0.trail = trail;
        self
    }

    pub(crate) fn foreign(mut self, class: &'static str) -> Self {
        self.0.foreign = Some(class);
        self
    }

    /// With Python's traceback.
    pub(crate) fn traced(mut self, trace: &str) -> Self {
        self.0.trace = Some(trace.to_owned());
        self
    }

    /// The error of the YAML `text`.
    pub(crate) fn yaml(error: &YamlError, text: &str) -> Self {
        use halite_yaml::ErrorKind as Yaml;
        let (message, class) = match error.kind {
            Yaml::Scanner => (error.problem.clone(), None),
            Yaml::Parser => (error.python_text(), None),
            Yaml::Constructor if error.problem == "found unhashable key" => {
                ("Invalid YAML, possible double curly-brace".to_owned(), None)
            }
            Yaml::Constructor => (error.python_text(), None),
            Yaml::Reader => (reader_text(error, text), Some("yaml.reader.ReaderError")),
            Yaml::Composer => (error.python_text(), Some("yaml.composer.ComposerError")),
            Yaml::Limit => (error.to_string(), None),
        };
        let kind = match error.kind {
            Yaml::Limit => ErrorKind::Limit,
            _ => ErrorKind::Data,
        };
        let mut new = Self::new(kind, message).at(Some(error.place.clone()));
        new.0.brief = match (&error.context, new.0.message.lines().next()) {
            (_, Some(first)) if first.starts_with("Invalid YAML") => None,
            (Some((context, _)), _) => Some(format!("{} ({context})", error.problem)),
            (None, _) => Some(error.problem.clone()),
        };
        match class {
            Some(class) => new.foreign(class),
            None => new,
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is wrong, in Salt's words.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where: in the file that is to blame. For data this is the place of the
    /// template that gave it; where that is not known, of the text.
    pub fn place(&self) -> Option<&SourceLocation> {
        self.0.place.as_ref()
    }

    /// The includes, imports and macros on the way, innermost first.
    pub fn trail(&self) -> &[String] {
        &self.0.trail
    }

    /// The name of Python's exception where Salt raises no error of its own
    /// for this: such errors are worded apart.
    pub fn foreign_class(&self) -> Option<&'static str> {
        self.0.foreign
    }

    /// What a state run says of this error in the SLS `sls`.
    pub fn sls_text(&self, saltenv: &str, sls: &str) -> String {
        if let Some(trace) = &self.0.trace {
            return format!("Rendering SLS {sls} failed, render error: {self}\n{trace}");
        }
        match self.0.foreign {
            None => format!("Rendering SLS '{saltenv}:{sls}' failed: {self}"),
            Some(class) => format!(
                "Rendering SLS {sls} failed, render error: {self}\nTraceback (most recent call \
                 last):\n  File \"halite\", in {sls}\n{class}: {self}\n"
            ),
        }
    }

    /// The error with the place, its line and the way to it: for logs and
    /// screens.
    pub fn report(&self) -> String {
        let first = self.0.message.lines().next().unwrap_or_default();
        let first = self.0.brief.as_deref().unwrap_or(first);
        let mut out = match &self.0.place {
            Some(place) => {
                let mut out = format!("{place}: {first}");
                let excerpt = place.excerpt();
                if !excerpt.is_empty() {
                    out.push('\n');
                    out.push_str(&excerpt);
                }
                out
            }
            None => self.0.message.clone(),
        };
        for step in shortened(self.0.trail.clone()) {
            out.push('\n');
            out.push_str(&step);
        }
        out
    }
}

/// The steps to an error; of a long way, as a recursion takes, both ends.
pub(crate) fn shortened(mut steps: Vec<String>) -> Vec<String> {
    let left_out = steps.len().saturating_sub(2 * TRAIL_ENDS);
    if left_out > 1 {
        let more = format!("  ... {left_out} more ...");
        steps.splice(TRAIL_ENDS..TRAIL_ENDS + left_out, [more]);
    }
    steps
}

/// A character that YAML does not allow is told by its byte.
fn reader_text(error: &YamlError, text: &str) -> String {
    format!(
        "{}\n  in \"<unicode string>\", position {}",
        error.problem,
        offset_of(text, error.place.span)
    )
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for RenderError {}
