//! The interface of the crate: settings, templates, globals.

use std::sync::Arc;

use halite_proto::value::Value as Data;

use crate::error::Result;
use crate::eval::{self, Machine, Vars};
use crate::functions;
use crate::host::Host;
use crate::parse;
use crate::settings::Settings;
use crate::source::Source;
use crate::template::Template;
use crate::trace::Trace;
use crate::value::Value;
use crate::walk::Walks;

/// Parses templates with one set of options.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    settings: Arc<Settings>,
}

/// The names that every template of a render sees. Values are shared between
/// renders, as they are in Salt: what a template changes stays changed.
#[derive(Clone, Default)]
pub struct Globals {
    vars: Vars,
}

impl Engine {
    /// An engine with these options.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
        }
    }

    /// Reads a template; `name` is what errors call it.
    pub fn parse(&self, name: &str, text: &str) -> Result<Template> {
        let source = Source::of_text(name, text, self.settings.keep_trailing_newline);
        let ast = parse::parse(&source, &self.settings, eval::NAMES)?;
        Ok(Template {
            ast: Arc::new(ast),
            settings: Arc::clone(&self.settings),
            final_newline: self.settings.restore_final_newline && text.ends_with('\n'),
        })
    }
}

impl Template {
    /// Renders the template.
    pub fn render(&self, host: &dyn Host, globals: &Globals) -> Result<String> {
        let _walks = Walks::begin(self.settings.limits.walk_values_max);
        let mut text = self.machine(host, globals).render(&self.ast)?;
        if self.final_newline {
            text.push('\n');
        }
        Ok(text)
    }

    /// Renders the template, and says where its text came from.
    pub fn render_traced(&self, host: &dyn Host, globals: &Globals) -> Result<(String, Trace)> {
        let _walks = Walks::begin(self.settings.limits.walk_values_max);
        let (mut text, marks) = self.machine(host, globals).render_marked(&self.ast)?;
        if self.final_newline {
            text.push('\n');
        }
        Ok((text, Trace::new(Arc::clone(&self.ast.source), marks)))
    }

    fn machine<'h>(&'h self, host: &'h dyn Host, globals: &Globals) -> Machine<'h> {
        let mut vars = globals.vars.clone();
        for (name, function) in functions::GLOBALS {
            vars.entry((*name).into())
                .or_insert_with(|| functions::value(name, *function));
        }
        Machine::new(&self.settings, host, vars)
    }
}

impl Globals {
    /// No names but the built-in functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a name.
    pub fn insert(&mut self, name: &str, value: Value) {
        self.vars.insert(name.into(), value);
    }

    /// Sets a name to data.
    pub fn insert_data(&mut self, name: &str, data: &Data) {
        self.insert(name, Value::from_data(data));
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.vars.get(name)
    }
}
