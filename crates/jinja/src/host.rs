//! What a template needs from its surroundings, supplied by the caller: other
//! templates, Salt's functions, YAML, digests. The engine itself reads nothing.

use halite_proto::value::{Map, Value as Data};

use crate::error::{Error, Result};
use crate::template::Template;

/// A template that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct LoadRequest<'a> {
    /// The name as the template gives it: `a/b.jinja`, `./b.jinja`.
    pub name: &'a str,
    /// The global `tpldir` at this moment: what `./` and `../` are relative to.
    pub tpldir: Option<&'a str>,
}

/// A template's text.
#[derive(Clone, Debug, Default)]
pub struct LoadedSource {
    /// What errors call it.
    pub name: String,
    /// The text.
    pub text: String,
    /// Globals that change from now on. Salt's loader sets `tplfile`, `tpldir`
    /// and `tpldot`, which later imports see.
    pub globals: Vec<(String, Data)>,
    /// The template, if the host has parsed this text before, with the same
    /// settings; `text` is not looked at then.
    pub template: Option<Template>,
}

/// What a function call hands back.
#[derive(Clone, Debug, Default)]
pub struct Returned {
    /// The value that it returned.
    pub value: Data,
    /// Positions of arguments that it changed: the template's own list or map
    /// then holds what `args` holds after the call (`defaults.merge`).
    pub changed: Vec<usize>,
    /// It returned this argument itself, not a copy.
    pub same_as: Option<usize>,
}

impl From<Data> for Returned {
    fn from(value: Data) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

/// The world as a template sees it. Every method has a default that has
/// nothing.
pub trait Host {
    /// The text of a template, or `None` if no template has that name.
    fn load(&self, _request: LoadRequest<'_>) -> Result<Option<LoadedSource>> {
        Ok(None)
    }

    /// Whether `salt['module.function']` exists.
    fn has_function(&self, _name: &str) -> bool {
        false
    }

    /// Whether any function of `salt.module` exists.
    fn has_module(&self, _name: &str) -> bool {
        false
    }

    /// Calls a Salt function.
    fn call(&self, name: &str, _args: &mut Vec<Data>, _kwargs: &mut Map) -> Result<Returned> {
        Err(Error::host(format!("function '{name}' is not available")))
    }

    /// A filter that needs the machine, the network or chance (`which`,
    /// `dns_check`, `rand_str`, `strftime` ...); the first argument is the value.
    /// Also the function `lipsum`, with the arguments of its call.
    fn filter(&self, name: &str, _args: &mut Vec<Data>, _kwargs: &mut Map) -> Result<Data> {
        Err(Error::host(format!(
            "filter '{name}' is not available here"
        )))
    }

    /// Text that is YAML, as Salt loads it.
    fn decode_yaml(&self, _text: &str) -> Result<Data> {
        Err(Error::host("YAML is not available here"))
    }

    /// YAML of data as Salt dumps it, flow or block style, no newline trimmed.
    fn encode_yaml(&self, _data: &Data, _flow: bool) -> Result<String> {
        Err(Error::host("YAML is not available here"))
    }

    /// The digest of bytes: `md5`, `sha1`, `sha224`, `sha256`, `sha384`,
    /// `sha512`; `None` for one it does not have.
    fn digest(&self, _algorithm: &str, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// A host that has nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {}
