//! The Jinja stage: Salt's environment around the template engine.

mod host;
mod options;
mod templates;
mod words;

use std::borrow::Cow;

use halite_jinja::{Globals, Trace, Value as JinjaValue};
use halite_proto::{Map, Value};
use halite_yaml::{SourceLocation, Span};

use crate::error::RenderError;
use crate::render_context::RenderContext;
pub(crate) use host::SaltHost;
pub(crate) use templates::Templates;

/// What the external pillar `stack` calls what belongs to itself: data, and a
/// function that finds something in a map.
const STACK: &str = "__stack__";

/// One text on its way through Jinja.
pub(crate) struct Job<'a> {
    /// The text.
    pub(crate) text: &'a str,
    /// What errors call it.
    pub(crate) name: &'a str,
    /// Whether it is an SLS: which options of the environment apply.
    pub(crate) is_sls: bool,
    /// The environment for imports; nothing: the text's own directory.
    pub(crate) saltenv: Option<&'a str>,
    /// The path it lies at.
    pub(crate) path: Option<&'a std::path::Path>,
    /// The names of this text, on top of those of the context.
    pub(crate) names: &'a Map,
    /// As Jinja2 itself renders, without what Salt makes of it.
    pub(crate) is_plain: bool,
}

/// Renders a text.
pub(crate) fn render(
    job: &Job<'_>,
    ctx: &dyn RenderContext,
    templates: &Templates,
    base: &Globals,
) -> Result<(String, Origin), RenderError> {
    let (settings, text) = match job.is_plain {
        true => (options::plain(), Cow::Borrowed(job.text)),
        false => options::settings(job.text, job.is_sls, ctx.opts()),
    };
    let mut globals = base.clone();
    if job.is_plain {
        globals.insert("__salt__", JinjaValue::salt());
    }
    for (name, value) in job.names {
        if let Some(name) = name.as_str() {
            globals.insert_data(name, value);
        }
    }
    if let Some(Value::Map(stack)) = job.names.get(STACK).filter(|_| job.is_plain) {
        let more = [("traverse", JinjaValue::traverse())];
        globals.insert(STACK, JinjaValue::labelled_map_with(stack, "dict", &more));
    }
    let key = templates.key(&settings);
    let host = SaltHost::new(job, ctx, templates, &settings, key);
    let rendered = templates
        .parse(&settings, key, job.name, &text)
        .and_then(|template| template.render_traced(&host, &globals));
    match rendered {
        Ok((rendered, trace)) => {
            let header = text.len() != job.text.len();
            let name = job.name.to_owned();
            Ok((
                rendered,
                Origin {
                    trace,
                    header,
                    name,
                },
            ))
        }
        Err(error) => Err(words::render_error(&error, job.name, &text)),
    }
}

/// Where a rendered text came from.
pub(crate) struct Origin {
    trace: Trace,
    /// A line with options was taken out of the template.
    header: bool,
    name: String,
}

impl Origin {
    /// The place in the template that gave the byte `offset` of its text.
    pub(crate) fn place(&self, offset: usize) -> Option<SourceLocation> {
        let (line, column) = self.trace.place(offset)?;
        let shift = usize::from(self.header);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Some(SourceLocation {
            file: self.name.clone(),
            span: Span {
                line: number(line + shift),
                column: number(column),
            },
            line: self.trace.line_text(line).into(),
            is_end: false,
        })
    }
}

/// The names that every template of a context sees.
pub(crate) fn context_names(ctx: &dyn RenderContext, grains: &Map, pillar: &Map) -> Globals {
    const PROXY: &str = "salt.utils.optsdict.DictProxy";
    const OPTS: &str = "salt.utils.optsdict.OptsDict";
    let mut globals = Globals::new();
    let grains = JinjaValue::labelled_map(grains, PROXY);
    let pillar = JinjaValue::labelled_map(pillar, PROXY);
    let more = [("grains", grains.clone()), ("pillar", pillar.clone())];
    let opts = JinjaValue::labelled_map_with(ctx.opts(), OPTS, &more);
    globals.insert("salt", JinjaValue::salt());
    globals.insert("grains", grains);
    globals.insert("pillar", pillar);
    globals.insert("opts", opts);
    globals.insert_data("proxy", &Value::Map(Map::new()));
    globals
}
