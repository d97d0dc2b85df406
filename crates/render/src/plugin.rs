//! Renderers in Python: custom ones (`_renderers`, `render_dirs`), and those of the
//! installed Salt.
//!
//! Invariant: without custom files, and for texts that our own renderers render,
//! nothing here costs more than a look at a directory.

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, Request, Workers, directories, has_file, may_have};

use crate::error::{ErrorKind, RenderError};
use crate::jinja::Job;
use crate::pipe::Stage;
use crate::py::Host;
use crate::render_context::RenderContext;

/// The kind of these modules, and their directory.
const KIND: &str = "renderers";

/// The renderer of that name: of users, else our own, else of the Salt that is
/// installed.
pub(crate) fn stage(name: &str, ctx: &dyn RenderContext) -> Option<Stage> {
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let module = |of_salt| Stage::Module {
        name: name.to_owned(),
        of_salt,
    };
    let directories = directories(ctx.opts(), KIND);
    if has_file(&directories, name) {
        return Some(module(false));
    }
    if let Some(own) = Stage::parse(name) {
        return Some(own);
    }
    if may_have(&directories, name) {
        return Some(module(false));
    }
    is_of_salt(name, ctx).then(|| module(true))
}

fn is_of_salt(name: &str, ctx: &dyn RenderContext) -> bool {
    let is_wanted = ctx.opts().get("python_fallback").is_none_or(Value::is_true);
    let name = format!("{name}.render");
    let request = Request::Find {
        kind: KIND,
        name: &name,
    };
    is_wanted
        && Workers::global()
            .run(&Host(ctx), request)
            .is_ok_and(|found| found.get("signature").is_some())
}

/// A renderer that is to be run.
pub(crate) struct Call<'c> {
    pub(crate) name: &'c str,
    pub(crate) of_salt: bool,
    /// What came out of the renderer before it.
    pub(crate) data: &'c Value,
    /// What stands behind its name.
    pub(crate) argline: &'c str,
}

impl Call<'_> {
    /// What it makes of the data.
    pub(crate) fn run(&self, job: &Job<'_>, ctx: &dyn RenderContext) -> Result<Value, RenderError> {
        let text = |name: &str| job.names.get(name).and_then(Value::as_str);
        let path = job.path.map(|path| path.to_string_lossy());
        let mut kwargs = Map::from([("tmplpath", path.as_deref().unwrap_or(":string:"))]);
        if !self.argline.is_empty() {
            kwargs.insert("argline", self.argline);
        }
        let request = Request::Render {
            name: &format!("{}.render", self.name),
            data: self.data,
            saltenv: text("saltenv").unwrap_or("base"),
            sls: text("sls").unwrap_or_default(),
            kwargs: &kwargs,
            salt: self.of_salt,
        };
        Workers::global()
            .run(&Host(ctx), request)
            .map_err(|error| self.words(&error, ctx))
    }

    fn words(&self, error: &PyError, ctx: &dyn RenderContext) -> RenderError {
        let PyError::Raised(raised) = error else {
            return self.not_available(&error.to_string());
        };
        let is_missing =
            raised.is("KeyError") && raised.message == format!("'{}.render'", self.name);
        if is_missing {
            let why = why_missing(self.name, ctx);
            return self
                .not_available(&why.unwrap_or_else(|| "it has no function render".to_owned()));
        }
        let failed = RenderError::new(ErrorKind::Python, raised.message.clone());
        match raised.is("SaltRenderError") {
            true => failed,
            false => failed.foreign("Exception").traced(&raised.trace),
        }
    }

    fn not_available(&self, why: &str) -> RenderError {
        let message = format!("The renderer \"{}\" is not available: {why}", self.name);
        RenderError::new(ErrorKind::Renderer, message)
    }
}

/// Why the file of that name is no renderer.
fn why_missing(name: &str, ctx: &dyn RenderContext) -> Option<String> {
    let request = Request::List { kind: KIND };
    let listed = Workers::global().run(&Host(ctx), request).ok()?;
    let modules = listed.as_list()?.iter();
    let mut called_so =
        modules.filter(|module| module.get("name").and_then(Value::as_str) == Some(name));
    let why = called_so.find_map(|module| module.get("why").and_then(Value::as_str));
    why.map(str::to_owned)
}
