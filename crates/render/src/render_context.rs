//! What rendering needs from the machine: options, grains, pillar, functions and
//! files.

use std::path::PathBuf;
use std::sync::Arc;

use halite_jinja::Returned;
use halite_proto::{Map, Value};
use thiserror::Error;

/// Why the context could not do what a text asked for. The two kinds are told
/// apart because Salt words them apart.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RenderContextError {
    /// A function refused or failed (`CommandExecutionError`,
    /// `SaltInvocationError`).
    #[error("{0}")]
    Command(String),
    /// Anything else, with the name of Python's exception.
    #[error("{kind}: {message}")]
    Exception {
        /// The exception's class.
        kind: String,
        /// Its text.
        message: String,
    },
}

impl RenderContextError {
    /// The failure as templates have it.
    pub(crate) fn in_template(self) -> halite_jinja::Error {
        match self {
            Self::Command(message) => halite_jinja::Error::host(message),
            Self::Exception { kind, message } => halite_jinja::Error::of_class(kind, message),
        }
    }

    /// A function refused or failed.
    pub fn command(message: impl Into<String>) -> Self {
        Self::Command(message.into())
    }

    /// An exception of the class `kind`.
    pub fn exception(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Exception {
            kind: kind.into(),
            message: message.into(),
        }
    }

    /// The text alone, without the class.
    pub fn message(&self) -> &str {
        match self {
            Self::Command(message) | Self::Exception { message, .. } => message,
        }
    }
}

/// A file of the file server, as it lies here.
#[derive(Clone, Debug)]
pub struct ContextFile {
    /// Where: what errors call it.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Arc<[u8]>,
}

/// The machine as a text sees it. One thread renders; nothing here is asked from
/// another.
pub trait RenderContext {
    /// The options (`opts`), without grains and pillar.
    fn opts(&self) -> &Map;

    /// The grains of now.
    fn grains(&self) -> Arc<Map>;

    /// The pillar of now.
    fn pillar(&self) -> Arc<Map>;

    /// Whether `salt['module.function']` exists.
    fn has_function(&self, fun: &str) -> bool;

    /// Whether any function of `salt.module` exists.
    fn has_module(&self, module: &str) -> bool;

    /// Calls a function (`salt['module.function'](...)`).
    ///
    /// # Errors
    /// What the function fails with.
    fn call(
        &self,
        fun: &str,
        args: &mut Vec<Value>,
        kwargs: &mut Map,
    ) -> Result<Returned, RenderContextError>;

    /// The file `path` (below the roots, no `salt://`) of an environment;
    /// nothing if there is none. The context sees to it that asking twice is
    /// cheap.
    ///
    /// # Errors
    /// When the file server cannot be asked.
    fn file(&self, path: &str, saltenv: &str) -> Result<Option<ContextFile>, RenderContextError>;

    /// Told the process group of code that runs apart (`#!py`); what is
    /// returned is dropped when the code is done. A way to end it.
    fn watch(&self, _group: i32) -> Box<dyn std::any::Any> {
        Box::new(())
    }
}

/// A context that only has what is put into it: no functions, no files.
#[derive(Clone, Debug, Default)]
pub struct FixedContext {
    /// The options.
    pub opts: Map,
    /// The grains.
    pub grains: Arc<Map>,
    /// The pillar.
    pub pillar: Arc<Map>,
}

impl RenderContext for FixedContext {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains)
    }

    fn pillar(&self) -> Arc<Map> {
        Arc::clone(&self.pillar)
    }

    fn has_function(&self, _fun: &str) -> bool {
        false
    }

    fn has_module(&self, _module: &str) -> bool {
        false
    }

    fn call(
        &self,
        fun: &str,
        _args: &mut Vec<Value>,
        _kwargs: &mut Map,
    ) -> Result<Returned, RenderContextError> {
        Err(RenderContextError::exception(
            "KeyError",
            format!("'{fun}'"),
        ))
    }

    fn file(&self, _path: &str, _saltenv: &str) -> Result<Option<ContextFile>, RenderContextError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::RenderContextError;

    #[test]
    fn an_exception_keeps_its_class_in_a_template() {
        let error = RenderContextError::exception("FileNotFoundError", "[Errno 2] No such file");
        let error = error.in_template();
        assert_eq!(error.class_name(), "FileNotFoundError");
        assert_eq!(error.message(), "[Errno 2] No such file");
    }
}
