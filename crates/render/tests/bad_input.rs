//! Texts that would hang, fill the memory or end the daemon: each is an error with
//! its place.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use halite_proto::{Map, Value};
use halite_render::{
    ContextFile, ErrorKind, FixedContext, RenderContext, RenderContextError, RenderError, Renderer,
    Returned, SlsRequest, limits,
};

/// A context with files, and a function that renders again.
#[derive(Default)]
struct Files {
    still: FixedContext,
    files: HashMap<&'static str, &'static [u8]>,
}

impl RenderContext for Files {
    fn opts(&self) -> &Map {
        self.still.opts()
    }

    fn grains(&self) -> Arc<Map> {
        self.still.grains()
    }

    fn pillar(&self) -> Arc<Map> {
        self.still.pillar()
    }

    fn has_function(&self, _fun: &str) -> bool {
        false
    }

    fn has_module(&self, _module: &str) -> bool {
        false
    }

    fn call(
        &self,
        _: &str,
        _: &mut Vec<Value>,
        _: &mut Map,
    ) -> Result<Returned, RenderContextError> {
        Ok(Value::Nil.into())
    }

    fn file(&self, path: &str, saltenv: &str) -> Result<Option<ContextFile>, RenderContextError> {
        assert_eq!(saltenv, "base");
        Ok(self.files.get(path).map(|bytes| ContextFile {
            path: Path::new("/cache/base").join(path),
            bytes: Arc::from(*bytes),
        }))
    }
}

fn error_of(bytes: &[u8], files: &[(&'static str, &'static [u8])]) -> RenderError {
    let ctx = Files {
        files: files.iter().copied().collect(),
        ..Files::default()
    };
    let path = Path::new("/cache/base/bad.sls");
    let request = SlsRequest::file(bytes, "bad", "base", path);
    Renderer::new(&ctx).sls(&request).unwrap_err()
}

fn assert_at(error: &RenderError, place: &str) {
    let found = error.place().map(ToString::to_string);
    assert_eq!(found.as_deref(), Some(place), "{error:?}");
}

#[test]
fn loops_without_an_end_end() {
    let text =
        b"a: 1\n{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}\n";
    let error = error_of(text, &[]);
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(
        error.place().is_some_and(|place| place.span.line == 2),
        "{error:?}"
    );
}

#[test]
fn templates_that_import_or_include_each_other_end() {
    let circle: &[(&str, &[u8])] = &[
        ("a.jinja", b"{% import 'b.jinja' as b %}"),
        ("b.jinja", b"\n{% import 'a.jinja' as a %}"),
        ("c.jinja", b"{% include 'c.jinja' %}"),
    ];
    for text in ["{% import 'a.jinja' as a %}", "{% include 'c.jinja' %}"] {
        let error = error_of(text.as_bytes(), circle);
        assert_eq!(error.kind(), ErrorKind::Limit, "{error:?}");
        assert!(!error.trail().is_empty());
    }
}

#[test]
fn macros_that_call_themselves_end() {
    let error = error_of(b"{% macro m() %}{{ m() }}{% endmacro %}\n{{ m() }}", &[]);
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn aliases_that_stand_for_billions_of_nodes_are_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        let items = [before.as_str(); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    let error = error_of(text.as_bytes(), &[]);
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.place().is_some(), "{error:?}");
}

#[test]
fn texts_that_are_too_large_are_refused_unread() {
    let text = vec![b'a'; limits::TEXT_BYTES_MAX + 1];
    let error = error_of(&text, &[]);
    assert_eq!(error.kind(), ErrorKind::Limit);
    let template = "{% set x = 'x' * 60000000 %}{{ x }}{{ x }}";
    assert_eq!(error_of(template.as_bytes(), &[]).kind(), ErrorKind::Limit);
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let text = format!("#!yaml\n{}1{}", open.repeat(50_000), close.repeat(50_000));
        assert_eq!(error_of(text.as_bytes(), &[]).kind(), ErrorKind::Limit);
    }
    let json = format!("#!json\n{}{}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(error_of(json.as_bytes(), &[]).place().is_some());
    let jinja = format!("{{{{ {}1{} }}}}", "(".repeat(50_000), ")".repeat(50_000));
    error_of(jinja.as_bytes(), &[]);
}

#[test]
fn bytes_that_are_no_text_are_shown_where_they_are() {
    let error = error_of(b"a: 1\nb: \xff\n", &[]);
    assert_at(&error, "/cache/base/bad.sls:2:4");
    assert_eq!(error.foreign_class(), Some("UnicodeDecodeError"));
    assert_eq!(
        error.to_string(),
        "'utf-8' codec can't decode byte 0xff in position 8: invalid start byte"
    );
    let files: &[(&str, &[u8])] = &[("x.jinja", b"\n\xff")];
    let error = error_of(b"a: 1\n{% import 'x.jinja' as x %}\n", files);
    assert!(error.to_string().contains("can't decode byte"), "{error}");
}

#[test]
fn the_report_leads_to_the_line() {
    let files: &[(&str, &[u8])] = &[(
        "m.jinja",
        b"{% macro a(x) %}\n  {{ b(x) }}\n{% endmacro %}\n{% macro b(x) %}\n  {{ x.y.z }}\n{% endmacro %}\n",
    )];
    let error = error_of(b"{% import 'm.jinja' as m %}\na: {{ m.a({}) }}\n", files);
    assert_eq!(
        error.report(),
        "/cache/base/m.jinja:5:10: Jinja variable 'dict object' has no attribute 'y'\n    \
         {{ x.y.z }}\n           ^\nin macro 'b', /cache/base/m.jinja:2:6\nin macro 'a', \
         /cache/base/bad.sls:2:9"
    );
    let error = error_of(b"a: 1\nb: [1, {{ 2 }}\nc: 3\n", &[]);
    assert_at(&error, "/cache/base/bad.sls:3:2");
    let error = error_of(b"a:\n\tb: 1\n", &[]);
    assert_at(&error, "/cache/base/bad.sls:2:1");
    // From the rendered text back to the template, loops and tags included.
    let text =
        "{% for i in [1, 2] %}\n{% set x = i %}\nk{{ i }}: v\n{% endfor %}\n\nz: {{ 'a: b' }}\n";
    let error = error_of(text.as_bytes(), &[]);
    assert_at(&error, "/cache/base/bad.sls:6:7");
    assert_eq!(
        error.report(),
        "/cache/base/bad.sls:6:7: mapping values are not allowed in this context\n  z: {{ 'a: b' }}\n        \
         ^\nrendered: z: a: b"
    );
    let error = error_of(
        b"#jinja2: {\"trim_blocks\": true}\n{# one #}\n\na: 1\na: 2\n",
        &[],
    );
    assert_at(&error, "/cache/base/bad.sls:5:1");
}

#[test]
fn python_is_not_run_from_texts_that_are_of_no_file() {
    let ctx = Files::default();
    for renderer in ["py", "pyobjects", "jinja|pyobjects"] {
        let text = format!("#!{renderer}\nopen('/nowhere/at-all', 'w')\n");
        let request = SlsRequest::new(text.as_bytes());
        let error = Renderer::new(&ctx).sls(&request).unwrap_err();
        let refused = "Template :string: is not a file!";
        assert_eq!(error.message(), refused, "{renderer}");
    }
}
