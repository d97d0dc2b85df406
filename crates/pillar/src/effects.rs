//! The effects that the compiler asks for.

use std::sync::Arc;

use halite_proto::{Map, Value};

use crate::request::Request;
use crate::tree::Found;

/// A file to be rendered.
#[derive(Debug)]
pub struct Sls<'a> {
    /// Its dotted name; empty for top files.
    pub name: &'a str,
    /// Its environment.
    pub saltenv: &'a str,
    /// Where it is.
    pub file: &'a Found,
    /// What it holds.
    pub bytes: &'a [u8],
    /// Further variables (`defaults` of an include).
    pub defaults: &'a Map,
}

/// Why a file could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// In Salt's words, which may quote the file.
    pub text: String,
    /// The file, line and column, if they are known.
    pub place: Option<String>,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, place: None }
    }
}

/// An external pillar in Python with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// What it gets behind the minion's id and the pillar so far.
    pub args: Vec<Value>,
    /// The same by name.
    pub kwargs: Map,
}

impl Module {
    /// As Salt hands arguments on: a map by name, a list by place, anything
    /// else as one.
    pub(crate) fn parse(name: &str, arguments: &Value) -> Self {
        let (args, kwargs) = match arguments {
            Value::Map(named) => (Vec::new(), named.clone()),
            Value::List(items) => (items.clone(), Map::new()),
            one => (vec![one.clone()], Map::new()),
        };
        let name = name.to_owned();
        Self { name, args, kwargs }
    }
}

/// What there is beside the files: renderers, decryption, commands.
pub trait Effects {
    /// Renders a file to data. `pillar` is what it sees as the pillar.
    ///
    /// # Errors
    /// Where Salt's renderers fail.
    fn render(&self, sls: &Sls<'_>, pillar: &Arc<Map>) -> Result<Value, Failure>;

    /// Sends text, or every text in a map or list, through a renderer.
    ///
    /// # Errors
    /// What the renderer says.
    fn decrypt(&self, renderer: &str, value: Value) -> Result<Value, String>;

    /// Runs a command, through a shell or not, and gives its output.
    ///
    /// # Errors
    /// When it cannot be run or takes too long.
    fn command(&self, command: &str, through_shell: bool) -> Result<String, String>;

    /// The pillar of another request, with effects of its own: that of a
    /// repository.
    fn compile(&self, request: &Request) -> Map;

    /// What an external pillar in Python says.
    ///
    /// # Errors
    /// When there is none of that name, or it fails.
    fn module(&self, module: &Module, request: &Request, known: Known<'_>)
    -> Result<Value, String>;

    /// The options that external pillars see: those of the one who compiles.
    fn opts_of_modules(&self) -> Map;

    /// Renders a text as Jinja2 itself does; `names` are its variables.
    ///
    /// # Errors
    /// What the engine says.
    fn render_plain(&self, bytes: &[u8], file: &Found, names: &Map) -> Result<String, String>;

    /// Renders the text of one file of `file_tree` with these renderers.
    ///
    /// # Errors
    /// In Salt's words.
    fn render_text(&self, bytes: &[u8], file: &Found, renderers: &str) -> Result<Value, String>;
}

/// What an external pillar may know of the pillar.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// What the files say.
    pub files: &'a Map,
    /// The same with what the external pillars before it have said.
    pub so_far: &'a Map,
}
