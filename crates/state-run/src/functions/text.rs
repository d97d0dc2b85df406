//! States that do not come from the file roots: high data, a local file, or a
//! text.

use std::path::{Path, PathBuf};

use halite_call::{Call, CallError, CallRenderContext, CallResult, Function, within_call};
use halite_crypto::files;
use halite_proto::{Map, Value};
use halite_render::{Renderer, SlsRequest};
use halite_state::high::pad_template;

use super::run::{shown_as_states, with_turn};
use crate::applied::{self, Applied};
use crate::context::StateContext;
use crate::limits::OWN_FILE_BYTES_MAX;
use crate::source::Written;

pub(super) const HIGH: Function = shown_as_states(Function::new(
    "state.high",
    "(data, test=None, queue=None, **kwargs)",
    high,
    "Runs high data: a map of ids to states with their arguments.",
));

pub(super) const TEMPLATE: Function = shown_as_states(Function::new(
    "state.template",
    "(tem, queue=None, **kwargs)",
    template,
    "Runs the states of an SLS file that lies on the minion, given by its path.",
));

pub(super) const TEMPLATE_STR: Function = shown_as_states(Function::new(
    "state.template_str",
    "(tem, queue=None, **kwargs)",
    template_str,
    "Runs the states of an SLS that is given as text.",
));

fn high(call: &Call<'_>) -> CallResult {
    with_turn(call, false, None, |ctx| match call.arg("data") {
        Value::Map(data) => applied::high(call, ctx, data.clone()),
        _ => Ok(Applied::Errors(vec![
            "High data is not a dictionary and is invalid".to_owned(),
        ])),
    })
}

fn template_str(call: &Call<'_>) -> CallResult {
    let text = call.text("tem");
    with_turn(call, false, None, |ctx| {
        rendered(call, ctx, text.as_bytes(), None, "<template-str>")
    })
}

fn template(call: &Call<'_>) -> CallResult {
    let name = call.text("tem");
    let path = if name.ends_with(".sls") {
        PathBuf::from(&name)
    } else {
        PathBuf::from(format!("{name}.sls"))
    };
    with_turn(call, false, None, |ctx| {
        let Ok(bytes) = files::read_limited(&path, OWN_FILE_BYTES_MAX) else {
            return Ok(Applied::Errors(vec![format!(
                "Specified SLS {} on local filesystem cannot be found.",
                path.display()
            )]));
        };
        rendered(call, ctx, &bytes, Some(&path), &name)
    })
}

fn rendered(
    call: &Call<'_>,
    ctx: &StateContext<'_>,
    bytes: &[u8],
    path: Option<&Path>,
    name: &str,
) -> Result<Applied, CallError> {
    let mut rendered = within_call(ctx, call.job, |inner| {
        let render_context = CallRenderContext::new(inner);
        let request = SlsRequest {
            path,
            ..SlsRequest::new(bytes)
        };
        Renderer::new(&render_context).sls_with_places(&request)
    })?;
    let mut high = pad_template(std::mem::take(&mut rendered.value), name);
    let shown_path = path.map(|path| path.display().to_string());
    // What has no source of its own is of the environment `base`.
    let mut names = vec![("base", "")];
    if let Some(path) = &shown_path {
        names.push(("", path));
        if let Ok(high) = &mut high {
            name_source(high, path);
        }
    }
    let text = Written {
        names,
        path: path.unwrap_or_else(|| Path::new(name)),
        rendered,
    };
    applied::written(call, ctx, high, Some(&text))
}

/// States from a file say so.
fn name_source(high: &mut Map, path: &str) {
    for (_, body) in high.iter_mut() {
        if let Value::Map(body) = body {
            body.insert("__sls__", path);
            body.insert("__env__", "");
        }
    }
}
