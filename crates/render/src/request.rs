//! The text to render, and its parameters.

use std::path::Path;

use halite_proto::Map;

/// An SLS - of states, of pillar, a top file - to become data.
#[derive(Clone, Copy, Debug)]
pub struct SlsRequest<'a> {
    /// The file's content.
    pub bytes: &'a [u8],
    /// The name with dots, empty for what is no SLS (a top file has `top`).
    pub sls: &'a str,
    /// The environment it is of.
    pub saltenv: &'a str,
    /// Where the file lies here (`tplpath`); nothing for a text of no file.
    pub path: Option<&'a Path>,
    /// More names for the template; they hide Salt's own.
    pub context: Option<&'a Map>,
    /// The pipe of texts without a `#!` line; nothing: the option `renderer`.
    pub renderer: Option<&'a str>,
}

impl<'a> SlsRequest<'a> {
    /// A text of no file, of the environment `base`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            sls: "",
            saltenv: "base",
            path: None,
            context: None,
            renderer: None,
        }
    }

    /// The SLS `sls` of the environment `saltenv`, which lies at `path`.
    pub fn file(bytes: &'a [u8], sls: &'a str, saltenv: &'a str, path: &'a Path) -> Self {
        Self {
            sls,
            saltenv,
            path: Some(path),
            ..Self::new(bytes)
        }
    }

    /// The same with more names.
    #[must_use]
    pub fn with_context(self, context: &'a Map) -> Self {
        Self {
            context: Some(context),
            ..self
        }
    }
}

/// A template of a managed file to become text.
#[derive(Clone, Copy, Debug)]
pub struct TextRequest<'a> {
    /// The template's content.
    pub bytes: &'a [u8],
    /// The environment that imports are taken from; nothing: the directory of
    /// `path`.
    pub saltenv: Option<&'a str>,
    /// Where the template lies here.
    pub path: Option<&'a Path>,
    /// The SLS or the path below the roots that names are made from
    /// (`tpldir`, ...); nothing: there are no such names.
    pub sls: Option<&'a str>,
    /// More names for the template (`source`, `name`, ..., `context`); they
    /// hide Salt's own.
    pub context: Option<&'a Map>,
}

impl<'a> TextRequest<'a> {
    /// A template of no file, of the environment `base`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            saltenv: Some("base"),
            path: None,
            sls: None,
            context: None,
        }
    }
}
