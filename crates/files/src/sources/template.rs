//! Templates of managed files.

use std::path::Path;

use halite_call::{Call, CallRenderContext};
use halite_proto::{Map, Value};
use halite_render::{TextRequest, render_text};

/// Template languages there are.
const ENGINES: &[&str] = &["jinja", "py"];

/// What a template is rendered with beside the minion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template<'a> {
    /// `jinja`, `py`.
    pub(crate) engine: &'a str,
    /// The file's name.
    pub(crate) name: Option<&'a str>,
    /// Where the template comes from.
    pub(crate) source: Option<&'a str>,
    /// Where the template lies here.
    pub(crate) path: Option<&'a Path>,
    /// The environment of imports.
    pub(crate) saltenv: &'a str,
    /// Names of the file: `user`, `group`, `mode`, `attrs`.
    pub(crate) about: Map,
    /// The variables: defaults with the context over them.
    pub(crate) context: Map,
}

/// Why there is no text.
pub(crate) enum TemplateError {
    /// No such template language.
    Unsupported(String),
    /// The template is wrong.
    Render(String),
}

impl TemplateError {
    /// In words.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Unsupported(engine) => {
                format!("Specified template format {engine} is not supported")
            }
            Self::Render(text) => text,
        }
    }
}

/// Renders `bytes`.
pub(crate) fn render(
    call: &Call<'_>,
    bytes: &[u8],
    template: &Template<'_>,
) -> Result<Vec<u8>, TemplateError> {
    if !ENGINES.contains(&template.engine) {
        return Err(TemplateError::Unsupported(template.engine.to_owned()));
    }
    let mut names = template.about.clone();
    if let Some(name) = template.name {
        names.insert("name", name);
    }
    if let Some(source) = template.source {
        names.insert("source", source);
    }
    names.insert("saltenv", template.saltenv);
    for (key, value) in &template.context {
        names.insert(key.clone(), value.clone());
    }
    let request = TextRequest {
        bytes,
        saltenv: Some(template.saltenv),
        path: template.path,
        sls: None,
        context: Some(&names),
    };
    render_text(template.engine, &request, &CallRenderContext::new(call))
        .map(String::into_bytes)
        .map_err(|error| TemplateError::Render(error.to_string()))
}

/// `defaults` with `context` over them.
pub(crate) fn variables(defaults: &Value, context: &Value) -> Map {
    let mut all = defaults.as_map().cloned().unwrap_or_default();
    if let Some(context) = context.as_map() {
        all.extend(context.clone());
    }
    all
}
