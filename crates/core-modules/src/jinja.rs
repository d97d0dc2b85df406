//! `jinja.*`: the results of the map files of formulas.

use halite_proto::Value;
use halite_render::{Renderer, SlsRequest};

use halite_call::{Call, CallError, CallRenderContext, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "jinja",
    functions: &[
        Function::new(
            "jinja.import_json",
            "(path)",
            import_json,
            "The data of a JSON file of the state tree, as templates import it.",
        ),
        Function::new(
            "jinja.import_yaml",
            "(path)",
            import_yaml,
            "The data of a YAML file of the state tree, as templates import it.",
        ),
        Function::new(
            "jinja.load_map",
            "(path, value)",
            load_map,
            "What a map file of the state tree exports under a name.",
        ),
    ],
};

fn load_map(call: &Call<'_>) -> CallResult {
    let (path, value) = (call.text("path"), call.text("value"));
    let is_name = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_name {
        return Err(CallError::invocation(format!(
            "no name of a value: {value}"
        )));
    }
    let import = format!("{{% from {} import {value} with context %}}", quoted(&path));
    evaluate(call, &import, &value)
}

fn import_yaml(call: &Call<'_>) -> CallResult {
    let path = quoted(&call.text("path"));
    evaluate(
        call,
        &format!("{{% import_yaml {path} as imported %}}"),
        "imported",
    )
}

fn import_json(call: &Call<'_>) -> CallResult {
    let path = quoted(&call.text("path"));
    evaluate(
        call,
        &format!("{{% import_json {path} as imported %}}"),
        "imported",
    )
}

fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The data of `name` after `import`, by way of the default renderer, as Salt
/// does it.
fn evaluate(call: &Call<'_>, import: &str, name: &str) -> CallResult {
    let text = format!("{import}\n{{{{ {name} | tojson }}}}\n");
    let render_context = CallRenderContext::new(call);
    // A file without an SLS, as Salt writes one.
    let path = std::path::Path::new("<template>");
    let request = SlsRequest {
        path: Some(path),
        ..SlsRequest::new(text.as_bytes())
    };
    let data: Value = Renderer::new(&render_context).sls(&request)?;
    Ok(data)
}
