//! Templates that use other templates.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use halite_proto::python;

use super::{Context, Env, Loaded, Machine, NAMES, Sink};
use crate::ast::{Ast, FromImport, Import, Include, Stmt};
use crate::error::{Error, ErrorKind, Result};
use crate::host::LoadRequest;
use crate::parse;
use crate::source::{Source, Str};
use crate::value::{self, List, Tuple, Undefined, Value};

/// An imported template: what its top level assigned, and its text.
pub(crate) struct ModuleValue {
    names: IndexMap<Str, Value>,
    text: Str,
    name: Str,
}

impl ModuleValue {
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.names.get(name).cloned()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Loaded {
    pub(super) fn ast(&self) -> Arc<Ast> {
        Arc::clone(&self.ast)
    }
}

impl Machine<'_> {
    /// A template by what an expression says: one name, or several of which
    /// the first that exists is taken.
    pub(super) fn load(&self, env: &Env, stmt: &Stmt, wanted: &Value) -> Result<Rc<Loaded>> {
        if let Some(undefined) = wanted.as_undefined() {
            return Err(undefined.error());
        }
        let names = match wanted {
            Value::List(List(cell)) => cell.0.borrow().clone(),
            Value::Tuple(Tuple(cell)) => cell.0.clone(),
            other => {
                let name = other.want_str("the name of a template")?;
                return self
                    .load_named(env, stmt, name)?
                    .ok_or_else(|| not_found(name));
            }
        };
        let mut tried = Vec::new();
        for name in &names {
            let name = name.want_str("the name of a template")?;
            if let Some(loaded) = self.load_named(env, stmt, name)? {
                return Ok(loaded);
            }
            tried.push(name.to_owned());
        }
        Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "none of the templates given were found: {}",
                tried.join(", ")
            ),
        ))
    }

    fn load_named(&self, env: &Env, stmt: &Stmt, name: &str) -> Result<Option<Rc<Loaded>>> {
        if let Some(loaded) = self.templates.borrow().get(name) {
            return Ok(Some(Rc::clone(loaded)));
        }
        let tpldir = self.globals.borrow().get("tpldir").cloned();
        let request = LoadRequest {
            name,
            tpldir: tpldir.as_ref().and_then(Value::as_str),
        };
        let Some(loaded) = self.host.load(request)? else {
            return Ok(None);
        };
        for (name, data) in &loaded.globals {
            let value = Value::from_data(data);
            self.globals
                .borrow_mut()
                .insert(name.as_str().into(), value);
        }
        let ast = match loaded.template {
            Some(template) => template.ast,
            None => {
                let keep = self.settings.keep_trailing_newline;
                let source = Source::of_text(&loaded.name, &loaded.text, keep);
                let ast = parse::parse(&source, self.settings, NAMES)
                    .map_err(|error| error.through(format!("'{name}'"), &env.source, stmt.span))?;
                Arc::new(ast)
            }
        };
        let loaded = Rc::new(Loaded {
            name: name.to_owned(),
            ast,
            module: Default::default(),
        });
        let old = self
            .templates
            .borrow_mut()
            .insert(name.to_owned(), Rc::clone(&loaded));
        drop(old);
        Ok(Some(loaded))
    }

    fn module_of(&self, env: &Env, loaded: &Loaded, with_context: bool) -> Result<Value> {
        if !with_context && let Some(module) = &*loaded.module.borrow() {
            return Ok(module.clone());
        }
        let parent = if with_context {
            env.all()
        } else {
            self.globals.borrow().clone()
        };
        let context = Context::new(Rc::new(parent), &loaded.ast.blocks);
        let text = self.deeper(|| self.run(&loaded.ast, &context))?;
        let module = Value::object(value::Object::Module(ModuleValue {
            names: context.exported(),
            text: text.into(),
            name: loaded.name.as_str().into(),
        }));
        if !with_context {
            *loaded.module.borrow_mut() = Some(module.clone());
        }
        Ok(module)
    }

    pub(super) fn import(&self, env: &Env, stmt: &Stmt, node: &Import) -> Result<Value> {
        let wanted = self.eval(env, &node.template)?;
        let loaded = self.load(env, stmt, &wanted)?;
        self.module_of(env, &loaded, node.with_context)
            .map_err(|error| through("import", &loaded, error, env, stmt))
    }

    pub(super) fn import_names(&self, env: &Env, stmt: &Stmt, node: &FromImport) -> Result<()> {
        let wanted = self.eval(env, &node.template)?;
        let loaded = self.load(env, stmt, &wanted)?;
        let module = self
            .module_of(env, &loaded, node.with_context)
            .map_err(|error| through("import", &loaded, error, env, stmt))?;
        let Some(value::Object::Module(module)) = module.as_object() else {
            return Ok(());
        };
        for (name, alias) in &node.names {
            let value = module.get(name).unwrap_or_else(|| {
                let message = format!(
                    "the template {} (imported on line {}) does not export the requested name {}",
                    python::str_repr(module.name()),
                    env.source.line_column(stmt.span).0,
                    python::str_repr(name),
                );
                Undefined::hint(message, self.lenient())
            });
            env.set(alias, value);
        }
        Ok(())
    }

    pub(super) fn include(
        &self,
        env: &Env,
        stmt: &Stmt,
        node: &Include,
        sink: &mut Sink,
    ) -> Result<()> {
        let wanted = self.eval(env, &node.template)?;
        let loaded = match self.load(env, stmt, &wanted) {
            Err(error) if node.ignore_missing && error.kind() == ErrorKind::NotFound => {
                return Ok(());
            }
            other => other?,
        };
        if !node.with_context {
            let module = self
                .module_of(env, &loaded, false)
                .map_err(|error| through("include", &loaded, error, env, stmt))?;
            return self.write(sink, &value::text(&module)?);
        }
        let context = Context::new(Rc::new(env.all()), &loaded.ast.blocks);
        let text = self
            .deeper(|| self.run(&loaded.ast, &context))
            .map_err(|error| through("include", &loaded, error, env, stmt))?;
        self.write(sink, &text)
    }
}

fn through(how: &str, loaded: &Loaded, error: Error, env: &Env, stmt: &Stmt) -> Error {
    let what = format!("{how} of '{}'", loaded.ast.source.name());
    error.through(what, &env.source, stmt.span)
}

fn not_found(name: &str) -> Error {
    Error::new(ErrorKind::NotFound, name)
}
