//! Python texts: `run()` in a worker process returns the data.

use halite_proto::python;
use halite_proto::{Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers};
use halite_yaml::{SourceLocation, Span};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, RenderError};
use crate::jinja::Job;
use crate::render_context::{RenderContext, RenderContextError};

/// What `run()` of the text returns.
pub(crate) fn run(job: &Job<'_>, ctx: &dyn RenderContext) -> Result<Value, RenderError> {
    let path = file_of(job)?;
    let mut names = job.names.clone();
    names.get_or_insert_with("context", || job.names.clone().into());
    let request = Request::Code {
        source: job.text,
        path: &path,
        names: &names,
    };
    Workers::global()
        .run(&Host(ctx), request)
        .map_err(|error| words(&error, "py", &path, job.text))
}

/// The data that the text declares with the objects of `pyobjects`.
pub(crate) fn objects(
    job: &Job<'_>,
    text: &str,
    ctx: &dyn RenderContext,
) -> Result<Value, RenderError> {
    let path = file_of(job)?;
    let request = Request::Objects {
        source: text,
        path: &path,
        names: job.names,
    };
    Workers::global()
        .run(&Host(ctx), request)
        .map_err(|error| match &error {
            PyError::Raised(raised) => of_loading(raised, &path, text),
            other => words(other, "pyobjects", &path, text),
        })
}

/// The file that the code is of. A text that is not of a file may be anybody's,
/// such as a grain that a pillar renders, and is not run.
fn file_of<'j>(job: &Job<'j>) -> Result<Cow<'j, str>, RenderError> {
    let message = "Template :string: is not a file!";
    let path = job.path.map(Path::to_string_lossy);
    path.ok_or_else(|| RenderError::new(ErrorKind::Python, message))
}

/// The text that `run()` of a managed file's template returns.
pub(crate) fn text(job: &Job<'_>, ctx: &dyn RenderContext) -> Result<String, RenderError> {
    match run(job, ctx)? {
        Value::Str(text) => Ok(text),
        Value::Bytes(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => {
            let kind = other.type_name();
            let message = format!("expected str or bytearray not <class '{kind}'>");
            Err(RenderError::new(ErrorKind::Python, message))
        }
    }
}

/// The error as Salt words it: the traceback.
fn words(error: &PyError, renderer: &str, path: &str, text: &str) -> RenderError {
    match error {
        // Salt lets what goes wrong while the file is loaded through as it is.
        PyError::Raised(raised) if is_loading(&raised.trace, path) => {
            of_loading(raised, path, text)
        }
        PyError::Raised(raised) => {
            RenderError::new(ErrorKind::Python, raised.trace.clone()).at(place(raised, path, text))
        }
        PyError::NoPython => RenderError::new(
            ErrorKind::Renderer,
            format!("The renderer \"{renderer}\" is not available: {error}"),
        ),
        other => RenderError::new(ErrorKind::Python, other.to_string()),
    }
}

/// What goes wrong while the file is loaded: the message alone.
fn of_loading(raised: &Raised, path: &str, text: &str) -> RenderError {
    RenderError::new(ErrorKind::Python, raised.message.clone())
        .foreign("Exception")
        .at(place(raised, path, text))
}

/// Whether the traceback enters the file at its outermost level, before
/// `run()` is called.
fn is_loading(trace: &str, path: &str) -> bool {
    let mark = format!("File \"{path}\", line ");
    let first = trace.split_once(&mark).map(|(_, rest)| rest);
    let line = first.and_then(|rest| rest.lines().next());
    line.is_some_and(|line| line.trim_end().ends_with("in <module>"))
}

/// The last line of the text that the traceback names.
fn place(raised: &Raised, path: &str, text: &str) -> Option<SourceLocation> {
    let mark = format!("File \"{path}\", line ");
    let (_, rest) = raised.trace.rsplit_once(&mark)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let line = digits.parse().ok()?;
    Some(SourceLocation::new(path, text, Span { line, column: 1 }))
}

/// The context as Python code sees it.
pub(crate) struct Host<'w>(pub(crate) &'w dyn RenderContext);

impl PyHost for Host<'_> {
    fn data(&self, name: &str) -> Value {
        match name {
            "opts" => self.0.opts().clone().into(),
            "grains" => Map::clone(&self.0.grains()).into(),
            _ => Map::clone(&self.0.pillar()).into(),
        }
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        halite_pyworker::directories(self.0.opts(), kind)
    }

    fn has_function(&self, fun: &str) -> bool {
        self.0.has_function(fun)
    }

    fn call(&self, fun: &str, mut args: Vec<Value>, mut kwargs: Map) -> Result<Value, Raised> {
        match self.0.call(fun, &mut args, &mut kwargs) {
            Ok(returned) => Ok(returned.value),
            Err(RenderContextError::Command(message)) => {
                Err(Raised::new("CommandExecutionError", message))
            }
            Err(RenderContextError::Exception { kind, message }) => {
                Err(Raised::new(kind, python::str(&Value::from(message))))
            }
        }
    }

    fn watch(&self, group: i32) -> Box<dyn std::any::Any> {
        self.0.watch(group)
    }
}
