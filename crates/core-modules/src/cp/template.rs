//! Files and paths that are templates.

use std::io::Write;
use std::path::Path;

use super::cache::cache_one;
use halite_call::render_context;
use halite_call::{
    Call, CallError, CallResult, paths,
    replace::{Dress, place_followed},
};

/// A path, rendered if the call has a `template`.
pub(super) fn rendered(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    let text = call.text(name);
    match call.text_opt("template") {
        Some(engine) if !matches!(engine.as_str(), "jinja" | "py") => Err(CallError::command(
            format!("Attempted to render file paths with unavailable engine {engine}"),
        )),
        Some(engine) => {
            let context = call.clean_kwargs();
            render_context::render(call, &engine, text.as_bytes(), None, &context)
        }
        None => Ok(text),
    }
}

pub(super) fn get_template(call: &Call<'_>) -> CallResult {
    let url = call.text("path");
    let engine = call.text("template");
    let Some(source) = cache_one(call, &url)?.filter(|path| path.is_file()) else {
        return Ok("".into());
    };
    if !matches!(engine.as_str(), "jinja" | "py") {
        tracing::error!("Attempted to render template with unavailable engine {engine}");
        return Ok("".into());
    }
    let bytes = paths::read(&source).map_err(|error| failed(&source, &error))?;
    let context = call.clean_kwargs();
    let text = render_context::render(call, &engine, &bytes, Some(&source), &context)?;
    let (dest, makedirs) = match call.text_opt("dest") {
        Some(dest) => (dest, call.flag("makedirs")),
        None => {
            let kept = call.salt("cp.cache_dest", &[url.into()], halite_proto::Map::new())?;
            (halite_call::python::str(&kept), true)
        }
    };
    let dest = Path::new(&dest);
    let parent = dest.parent().unwrap_or_else(|| Path::new(""));
    if !parent.is_dir() {
        if !makedirs {
            return Ok("".into());
        }
        paths::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
    }
    place_followed(dest, Dress::with_mode(0o600), |file| {
        file.write_all(text.as_bytes())
    })
    .map_err(|error| failed(dest, &error))?;
    Ok(dest.display().to_string().into())
}

fn failed(path: &Path, error: &dyn std::error::Error) -> CallError {
    CallError::command(format!("could not render to {}: {error}", path.display()))
}
