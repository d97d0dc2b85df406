//! The operations on a text, for these tests and for the fuzz targets
//! (`crates/fuzz`): each gives a result or an error with a text.

use std::path::Path;

use halite_proto::{Map, Value};
use halite_render::{FixedContext, Renderer, SlsRequest, TextRequest};
use halite_yaml::{DumpOptions, load, load_bytes};

/// A context in which nothing runs.
pub(crate) fn context() -> FixedContext {
    FixedContext {
        opts: Map::from([
            ("gpg_keydir", Value::from("/nonexistent")),
            ("renderer", "jinja|yaml".into()),
        ]),
        grains: Map::from([("os", "Debian")]).into(),
        pillar: Map::from([("a", Map::from([("b", 1)]))]).into(),
    }
}

/// A template of a managed file.
pub(crate) fn template(bytes: &[u8]) {
    let ctx = context();
    let renderer = Renderer::new(&ctx);
    if let Err(error) = renderer.text("jinja", &TextRequest::new(bytes)) {
        assert!(!error.to_string().is_empty());
        assert!(!error.report().is_empty());
    }
}

/// An SLS through its pipe, with the places of what it gives.
pub(crate) fn sls(bytes: &[u8]) {
    // What is encrypted goes to a program, and Python too: none of this.
    if bytes.starts_with(b"#!") {
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes);
        let names = |name: &[u8]| line.windows(name.len()).any(|part| part == name);
        if names(b"gpg") || names(b"py") {
            return;
        }
    }
    let ctx = context();
    let renderer = Renderer::new(&ctx);
    let path = Path::new("/srv/a/b.sls");
    let request = SlsRequest::file(bytes, "a.b", "base", path);
    match renderer.sls_with_places(&request) {
        Ok(rendered) => {
            if let Some(node) = rendered.node() {
                let _ = rendered.template_place(node.span);
            }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(!error.report().is_empty());
            assert!(error.sls_text("base", "a.b").contains("a.b"));
        }
    }
}

/// YAML: what is read can be written, and what is written read.
pub(crate) fn yaml(bytes: &[u8]) {
    match load_bytes(bytes, "f") {
        Ok(node) => {
            let value = node.to_value();
            for options in [DumpOptions::block(), DumpOptions::flow()] {
                let text = halite_yaml::dump(&value, options.unsorted());
                assert!(load(&text, "f").is_ok(), "{text}");
            }
        }
        Err(error) => {
            assert!(!error.render().is_empty());
            assert!(!error.python_text().is_empty());
        }
    }
}

/// A query of JMESPath in a template.
pub(crate) fn query(bytes: &[u8]) {
    let Ok(query) = std::str::from_utf8(bytes) else {
        return;
    };
    let text = format!("{{{{ {{'a': [{{'b': 1}}], 'c': 'x'}} | json_query({query:?}) }}}}");
    let ctx = context();
    let _ = Renderer::new(&ctx).text("jinja", &TextRequest::new(text.as_bytes()));
}
