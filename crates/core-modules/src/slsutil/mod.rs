//! `slsutil.*`: helpers for states and templates.

mod banner;
mod merging;
mod paths;
mod serializers;

use halite_proto::{Map, Value};
use halite_render::{Renderer, SlsRequest};

use halite_call::{Call, CallError, CallRenderContext, CallResult, Function, Module, python};

pub(super) const MODULE: Module = Module {
    name: "slsutil",
    functions: &[
        Function::new(
            "slsutil.banner",
            "(width=72, commentchar='#', borderchar='#', blockstart=None, blockend=None, title=None, text=None, newline=False)",
            banner::banner,
            "A comment that tells people not to edit a managed file.",
        ),
        Function::new(
            "slsutil.boolstr",
            "(value, true='true', false='false')",
            boolstr,
            "One of two texts, by whether the value is true.",
        ),
        Function::new(
            "slsutil.deserialize",
            "(serializer, stream_or_string, **mod_kwargs)",
            serializers::deserialize,
            "Data from a text: json, yaml, configparser, msgpack.",
        ),
        Function::new(
            "slsutil.dir_exists",
            "(path, saltenv='base')",
            paths::dir_exists,
            "Whether the state tree has a directory.",
        ),
        Function::new(
            "slsutil.file_exists",
            "(path, saltenv='base')",
            paths::file_exists,
            "Whether the state tree has a file.",
        ),
        Function::new(
            "slsutil.findup",
            "(startpath, filenames, saltenv='base')",
            paths::findup,
            "The first of several names that is found in a directory of the state tree or\nin one above it.",
        ),
        Function::new(
            "slsutil.merge",
            "(obj_a, obj_b, strategy='smart', renderer='yaml', merge_lists=False)",
            merging::merge,
            "Two maps made one: smart, recurse, list, aggregate, overwrite.",
        ),
        Function::new(
            "slsutil.merge_all",
            "(lst, strategy='smart', renderer='yaml', merge_lists=False)",
            merging::merge_all,
            "Several maps made one, one after the other.",
        ),
        Function::new(
            "slsutil.path_exists",
            "(path, saltenv='base')",
            paths::path_exists,
            "Whether the state tree has a file or a directory.",
        ),
        Function::new(
            "slsutil.renderer",
            "(path=None, string=None, default_renderer='jinja|yaml', **kwargs)",
            renderer,
            "A file or a text after its renderers; keyword arguments are names for it.",
        ),
        Function::new(
            "slsutil.serialize",
            "(serializer, obj, **mod_kwargs)",
            serializers::serialize,
            "The text of data: json, yaml, configparser, msgpack.",
        ),
        Function::new(
            "slsutil.update",
            "(dest, upd, recursive_update=True, merge_lists=False)",
            merging::update,
            "A map laid over another one.",
        ),
    ],
};

fn boolstr(call: &Call<'_>) -> CallResult {
    let name = if call.flag("value") { "true" } else { "false" };
    Ok(call.arg(name).clone())
}

fn renderer(call: &Call<'_>) -> CallResult {
    let mut names = call.clean_kwargs();
    let mut text_of = |name: &str| names.remove(name).map(|value| python::str(&value));
    let saltenv = text_of("saltenv").unwrap_or_else(|| "base".to_owned());
    let sls = text_of("sls").unwrap_or_default();
    if let Some(Value::Map(context)) = names.remove("context") {
        names.extend(context);
    }
    let (path, string) = (call.text_opt("path"), call.text_opt("string"));
    let (bytes, path) = match (path, string) {
        (None, None) => return Err(CallError::invocation("Must pass path or string.")),
        (Some(_), Some(_)) => {
            return Err(CallError::invocation("Must not pass both path and string."));
        }
        (None, Some(string)) => (string.into_bytes(), None),
        (Some(path), None) => match fetch(call, &path, &saltenv)? {
            Some((bytes, path)) => (bytes, Some(path)),
            None => return Ok(Map::new().into()),
        },
    };
    let default = call.text("default_renderer");
    let request = SlsRequest {
        bytes: &bytes,
        sls: &sls,
        saltenv: &saltenv,
        path: path.as_deref(),
        context: Some(&names),
        renderer: Some(&default),
    };
    let render_context = CallRenderContext::new(call);
    Ok(Renderer::new(&render_context).sls(&request)?)
}

/// A file by any address that `cp.get_url` takes; nothing if there is none.
fn fetch(
    call: &Call<'_>,
    url: &str,
    saltenv: &str,
) -> Result<Option<(Vec<u8>, std::path::PathBuf)>, CallError> {
    let kwargs = Map::from([("saltenv", saltenv)]);
    let found = call.salt("cp.get_url", &[url.into()], kwargs)?;
    let Some(path) = found.as_str().map(std::path::PathBuf::from) else {
        tracing::error!(
            "Template was specified incorrectly: {}",
            python::str(&found)
        );
        return Ok(None);
    };
    match halite_call::paths::read(&path) {
        Ok(bytes) => Ok(Some((bytes, path))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            tracing::error!("Template does not exist: {}", path.display());
            Ok(None)
        }
        Err(error) => Err(halite_call::os_error(&error, path)),
    }
}
