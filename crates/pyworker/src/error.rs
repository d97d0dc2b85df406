//! Errors of Python code.

use std::io;

use thiserror::Error;

/// An exception, raised by Python code or by a function that it called.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{class}: {message}")]
pub struct Raised {
    /// The class with its module: `salt.exceptions.CommandExecutionError`,
    /// `builtins.KeyError`.
    pub class: String,
    /// The names of the class and of those it derives from.
    pub bases: Vec<String>,
    /// Its text.
    pub message: String,
    /// Python's traceback, the exception included.
    pub trace: String,
}

impl Raised {
    /// An exception of our own.
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            bases: Vec::new(),
            message: message.into(),
            trace: String::new(),
        }
    }

    /// Whether it is of the class `name`, or of one derived from it.
    pub fn is(&self, name: &str) -> bool {
        self.bases.iter().any(|base| base == name) || self.class.rsplit('.').next() == Some(name)
    }

    /// The class without `builtins`, as Python prints it.
    pub fn class_name(&self) -> &str {
        self.class.strip_prefix("builtins.").unwrap_or(&self.class)
    }
}

/// Why Python code gave nothing.
#[derive(Debug, Error)]
pub enum PyError {
    /// The code raised an exception.
    #[error(transparent)]
    Raised(#[from] Raised),
    /// There is no Python.
    #[error("this needs Python, and there is no python3 on this machine")]
    NoPython,
    /// There is nothing where Python is said to be.
    #[error(
        "this needs Python, and python_executable is {0}, which is not the full path of a file"
    )]
    NoExecutable(String),
    /// Python could not be started.
    #[error("could not start python3")]
    Start(#[source] io::Error),
    /// The process ended in the middle of a call.
    #[error("the Python process ended: {0}")]
    Ended(String),
    /// The process said something that is no message.
    #[error("the Python process answered with nonsense: {0}")]
    Nonsense(String),
    /// Too many calls at once.
    #[error(
        "{0} Python processes are busy, which is the most there may be; try again when one \
         has ended (jobs.kill, saltutil.kill_job)"
    )]
    Busy(usize),
    /// A value that cannot be sent.
    #[error("a value is nested too deeply for Python code")]
    TooDeep,
    /// Something that a template left undefined.
    #[error("a value for Python code is undefined: {0}")]
    Undefined(String),
}

impl PyError {
    /// Whether there is no Python that could be asked at all.
    pub fn is_without_python(&self) -> bool {
        matches!(
            self,
            Self::NoPython | Self::NoExecutable(_) | Self::Start(_)
        )
    }
}
