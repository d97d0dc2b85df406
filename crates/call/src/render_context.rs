//! Rendering within a call: templates see the functions, grains, pillar,
//! options and files that the call has.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use halite_proto::request::HeldFile;
use halite_proto::{Map, SaltEnv, Value};
use halite_render::{
    ContextFile, RenderContext, RenderContextError, RenderError, Renderer, Returned, SlsRequest,
    TextRequest, render_text,
};

use crate::call::Call;
use crate::error::CallError;
use crate::extensions::{self, ExtensionKind};
use crate::file_client::FileClient;
use crate::held_files::HeldFiles;
use crate::{paths, python};

/// What rendering needs, from a call. Files are fetched once: what changes on the master
/// while it lives is not seen.
pub struct CallRenderContext<'c> {
    call: &'c Call<'c>,
    files: RefCell<HashMap<(String, String), Option<ContextFile>>>,
    /// What earlier calls have read, where that is remembered.
    held: Option<RefCell<HeldFiles>>,
}

impl<'c> CallRenderContext<'c> {
    /// The context of `call`.
    pub fn new(call: &'c Call<'c>) -> Self {
        Self {
            call,
            files: RefCell::default(),
            held: None,
        }
    }

    /// The context of a `call` that most likely reads what the last such call has
    /// read: the master is asked about all of that at once.
    pub fn recalling(call: &'c Call<'c>) -> Self {
        let recall = call.ctx.recall();
        Self {
            held: recall.map(|recall| RefCell::new(HeldFiles::ask(call, recall))),
            ..Self::new(call)
        }
    }

    /// Remembers what was read, for the next such call.
    pub fn keep_recall(self) {
        if let (Some(held), Some(recall)) = (self.held, self.call.ctx.recall()) {
            held.into_inner().keep(self.call, recall);
        }
    }

    /// A file whose copy here is the one that the master has.
    fn held(&self, key: &(String, String)) -> Option<ContextFile> {
        let held = self.held.as_ref()?.borrow();
        let hash = held.hash(key)?;
        let client = FileClient::new(self.call.ctx);
        let path = client.cache_path(&key.0, &key.1).ok()?;
        let bytes = read(&path).ok()?;
        (client.hash_of_bytes(&bytes)?.1 == hash).then_some(ContextFile { path, bytes })
    }

    fn record_read(&self, (path, saltenv): &(String, String), file: &ContextFile) {
        let Some(held) = &self.held else { return };
        let hash = FileClient::new(self.call.ctx).hash_of_bytes(&file.bytes);
        if let (Some((hash_type, hsum)), Ok(saltenv)) = (hash, SaltEnv::parse(saltenv)) {
            held.borrow_mut().record_read(HeldFile {
                path: path.clone(),
                saltenv,
                hash_type,
                hsum,
            });
        }
    }

    fn fetch(&self, path: &str, saltenv: &str) -> Result<Option<ContextFile>, RenderContextError> {
        let client = FileClient::new(self.call.ctx);
        let cached = match client.cache(path, saltenv) {
            Ok(Some(cached)) => cached,
            // No name of a file: as if there were none.
            Ok(None) | Err(crate::FileError::Path(_)) => return Ok(None),
            Err(error) => return Err(CallError::from(error).into()),
        };
        let bytes = read(&cached).map_err(|error| {
            RenderContextError::exception("OSError", format!("{}: {error}", cached.display()))
        })?;
        Ok(Some(ContextFile {
            path: cached,
            bytes,
        }))
    }
}

/// A file's content, one byte more than a text may have at most.
fn read(path: &Path) -> std::io::Result<Arc<[u8]>> {
    let mut bytes = Vec::new();
    let most = halite_render::limits::TEXT_BYTES_MAX as u64 + 1;
    paths::open_to_read(path)?
        .take(most)
        .read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

impl From<CallError> for RenderContextError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Command(message) | CallError::Invocation(message) => Self::Command(message),
            CallError::Arguments(message) => Self::exception("TypeError", message),
            CallError::NotFound(message) => Self::exception("CommandNotFoundError", message),
            CallError::Exception { kind, message, .. } => Self::exception(kind, message),
            ended @ CallError::Ended(_) => Self::exception("SystemExit", ended.to_string()),
        }
    }
}

/// Sends text, or every text in a map or list, through the renderer `name`.
///
/// # Errors
/// What the renderer says.
pub fn decrypt(renderer: &Renderer<'_>, name: &str, value: Value) -> Result<Value, String> {
    each_text(value, &|text| {
        let request = SlsRequest {
            renderer: Some(name),
            ..SlsRequest::new(text.as_bytes())
        };
        renderer.sls(&request).map_err(|error| error.to_string())
    })
}

/// The value with every text in it that is not blank replaced.
pub fn each_text(
    value: Value,
    change: &dyn Fn(String) -> Result<Value, String>,
) -> Result<Value, String> {
    Ok(match value {
        Value::Str(text) if !text.trim().is_empty() => change(text)?,
        Value::List(items) => items
            .into_iter()
            .map(|item| each_text(item, change))
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        Value::Map(map) => map
            .into_iter()
            .map(|(key, value)| Ok((key, each_text(value, change)?)))
            .collect::<Result<Map, String>>()?
            .into(),
        other => other,
    })
}

/// Functions that change their first argument and return it.
fn changes_its_argument(fun: &str, args: &[Value], kwargs: &Map) -> bool {
    let in_place = |at: usize| {
        let given = kwargs.get("in_place").or_else(|| args.get(at));
        given.is_none_or(Value::is_true)
    };
    match fun {
        "defaults.merge" | "defaults.update" => in_place(3),
        "slsutil.update" => true,
        _ => false,
    }
}

impl RenderContext for CallRenderContext<'_> {
    fn opts(&self) -> &Map {
        self.call.ctx.opts()
    }

    fn grains(&self) -> Arc<Map> {
        self.call.ctx.grains()
    }

    fn pillar(&self) -> Arc<Map> {
        self.call.ctx.pillar()
    }

    fn has_function(&self, fun: &str) -> bool {
        self.call.has_function(fun)
    }

    fn has_module(&self, module: &str) -> bool {
        let own = self.call.ctx.registry().module(module);
        let first = own.and_then(|module| module.functions.first());
        first.is_some_and(|function| self.call.has_function(function.name))
            || extensions::has_module(self.call.ctx, ExtensionKind::Modules, module)
    }

    fn call(
        &self,
        fun: &str,
        args: &mut Vec<Value>,
        kwargs: &mut Map,
    ) -> Result<Returned, RenderContextError> {
        let changes = !args.is_empty() && changes_its_argument(fun, args, kwargs);
        let value = self.call.salt(fun, args, kwargs.clone())?;
        if !changes {
            return Ok(value.into());
        }
        if let Some(first) = args.first_mut() {
            *first = value.clone();
        }
        Ok(Returned {
            value,
            changed: vec![0],
            same_as: Some(0),
        })
    }

    fn watch(&self, group: i32) -> Box<dyn std::any::Any> {
        Box::new(self.call.cancel().watch(group))
    }

    fn file(&self, path: &str, saltenv: &str) -> Result<Option<ContextFile>, RenderContextError> {
        let key = (path.to_owned(), saltenv.to_owned());
        if let Some(known) = self.files.borrow().get(&key) {
            return Ok(known.clone());
        }
        let file = match self.held(&key) {
            Some(file) => Some(file),
            None => self.fetch(path, saltenv)?,
        };
        if let Some(file) = &file {
            self.record_read(&key, file);
        }
        self.files.borrow_mut().insert(key, file.clone());
        Ok(file)
    }
}

/// Salt shows a failed render as an exception of its own.
impl From<RenderError> for CallError {
    fn from(error: RenderError) -> Self {
        let class = error.foreign_class();
        Self::exception(
            class.unwrap_or("salt.exceptions.SaltRenderError"),
            error.message(),
        )
    }
}

/// Renders a text for a function that takes `template=`: its names are the
/// context's, the environment and `context`.
pub fn render(
    call: &Call<'_>,
    engine: &str,
    text: &[u8],
    path: Option<&Path>,
    context: &Map,
) -> Result<String, CallError> {
    let saltenv = call
        .get("saltenv")
        .filter(|saltenv| saltenv.is_true())
        .map(python::str)
        .or_else(|| call.opt_text("saltenv"))
        .unwrap_or_else(|| "base".to_owned());
    // What is given as `context` hides what is given by name.
    let mut names = context.clone();
    if let Some(Value::Map(context)) = names.remove("context") {
        names.extend(context);
    }
    let request = TextRequest {
        saltenv: Some(&saltenv),
        path,
        context: Some(&names),
        ..TextRequest::new(text)
    };
    Ok(render_text(
        engine,
        &request,
        &CallRenderContext::new(call),
    )?)
}
