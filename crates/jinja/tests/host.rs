//! What a template gets from its host: functions, other templates, and errors with
//! a place.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use halite_jinja::{
    Engine, Error, ErrorKind, Globals, Host, LoadRequest, LoadedSource, Result, Returned, Settings,
    Value,
};
use halite_proto::value::{Map, Value as Data};

#[derive(Default)]
struct Minion {
    files: Vec<(&'static str, &'static str)>,
}

impl Host for Minion {
    fn load(&self, request: LoadRequest<'_>) -> Result<Option<LoadedSource>> {
        let name = match request.name.strip_prefix("./") {
            Some(name) => format!("{}/{name}", request.tpldir.unwrap_or_default()),
            None => request.name.to_owned(),
        };
        let found = self.files.iter().find(|(file, _)| *file == name);
        let dir = name.rsplit_once('/').map_or("", |(dir, _)| dir);
        Ok(found.map(|(file, text)| LoadedSource {
            name: format!("/cache/{file}"),
            text: (*text).to_owned(),
            globals: vec![("tpldir".to_owned(), dir.into())],
            ..LoadedSource::default()
        }))
    }

    fn has_function(&self, name: &str) -> bool {
        matches!(
            name,
            "test.echo" | "test.kwargs" | "test.fail" | "defaults.merge" | "grains.get"
        )
    }

    fn has_module(&self, name: &str) -> bool {
        matches!(name, "test" | "defaults" | "grains")
    }

    fn call(&self, name: &str, args: &mut Vec<Data>, kwargs: &mut Map) -> Result<Returned> {
        match name {
            "test.echo" => Ok(args[0].clone().into()),
            "test.kwargs" => Ok(Data::Map(kwargs.clone()).into()),
            "defaults.merge" => {
                let update = args[1].clone();
                for (key, value) in update.as_map().unwrap() {
                    args[0]
                        .as_map_mut()
                        .unwrap()
                        .insert(key.clone(), value.clone());
                }
                Ok(Returned {
                    changed: vec![0],
                    same_as: Some(0),
                    ..Returned::default()
                })
            }
            "grains.get" => Ok(Data::from("Debian").into()),
            _ => Err(Error::host("it failed")),
        }
    }

    fn filter(&self, name: &str, args: &mut Vec<Data>, _: &mut Map) -> Result<Data> {
        Ok(format!("{name}:{}", args[0].as_str().unwrap())
            .as_str()
            .into())
    }
}

fn render(files: &[(&'static str, &'static str)], text: &str) -> Result<String> {
    let mut globals = Globals::new();
    globals.insert("salt", Value::salt());
    let grains: Map = [("os", "Debian")].into_iter().collect();
    let label = "salt.utils.optsdict.DictProxy";
    globals.insert("grains", Value::labelled_map(&grains, label));
    globals.insert_data("tpldir", &"app".into());
    let host = Minion {
        files: files.to_vec(),
    };
    let template = Engine::new(Settings::salt()).parse("salt://app/init.sls", text)?;
    template.render(&host, &globals)
}

fn assert_text(text: &str, wanted: &str) {
    assert_eq!(render(&[], text).unwrap(), wanted, "{text}");
}

fn assert_error(text: &str, kind: ErrorKind, message: &str) {
    let error = render(&[], text).unwrap_err();
    assert_eq!((error.kind(), error.message()), (kind, message), "{text}");
}

#[test]
fn functions_are_called_in_every_form() {
    assert_text("{{ salt['test.echo']('x') }}", "x");
    assert_text("{{ salt.test.echo('x') }}", "x");
    assert_text("{{ salt['test'].echo([1, none]) }}", "[1, None]");
    assert_text("{{ salt['test']['echo'](1) }}", "1");
    assert_text("{{ salt.get('test.echo')(1) }}", "1");
    assert_text(
        "{{ salt['test.kwargs'](a=1, b={'c': 2}) }}",
        "{'a': 1, 'b': {'c': 2}}",
    );
    assert_text("{{ 'test.echo' in salt and 'no.no' not in salt }}", "True");
    assert_text("{{ salt['no.no'] is defined }}", "False");
    assert_text(
        "{{ salt['grains.get']('os') if salt['grains.get'] is callable }}",
        "Debian",
    );
}

#[test]
fn what_a_function_does_to_its_arguments_stays() {
    let text = "{% set a = {'x': 1} %}{% set b = a %}{% set c = salt['defaults.merge'](a, {'y': 2}) \
                %}{% do c.update({'z': 3}) %}{{ b }}";
    assert_text(text, "{'x': 1, 'y': 2, 'z': 3}");
}

#[test]
fn failures_say_what_failed() {
    assert_error("{{ salt['test.fail']() }}", ErrorKind::Host, "it failed");
    let message = "'salt.utils.templates.AliasedLoader object' has no attribute 'no.no'";
    assert_error("{{ salt['no.no']() }}", ErrorKind::Undefined, message);
    let message = "'salt.utils.optsdict.DictProxy object' has no attribute 'nope'";
    assert_error("{{ grains.nope }}", ErrorKind::Undefined, message);
    // Names with underscores that Python's objects do not have are names.
    let message = "'salt.utils.optsdict.DictProxy object' has no attribute '__mine__'";
    assert_error("{{ grains.__mine__ }}", ErrorKind::Undefined, message);
    assert_text("{{ {'__mine__': 1}.__mine__ }}", "1");
    assert_error(
        "{{ salt['test.echo'](nope) }}",
        ErrorKind::Undefined,
        "'nope' is undefined",
    );
}

#[test]
fn filters_of_the_machine_go_to_the_host() {
    assert_text(
        "{{ 'ls' | which }} {{ 'x' | strftime }}",
        "which:ls strftime:x",
    );
}

#[test]
fn an_import_moves_tpldir_for_later_imports() {
    let files = [
        (
            "lib/map.jinja",
            "{% from './other.jinja' import v %}{% set w = v ~ tpldir %}",
        ),
        ("lib/other.jinja", "{% set v = 'o' %}"),
    ];
    let text = "{% from 'lib/map.jinja' import w %}{{ w }} {{ tpldir }}";
    assert_eq!(render(&files, text).unwrap(), "olib app");
}

#[test]
fn an_error_shows_the_line_and_the_way_to_it() {
    let files = [(
        "a.jinja",
        "{% macro outer(x) %}\n  {{ inner(x) }}\n{% endmacro %}\n{% macro inner(x) %}\n\t{{ x.name.first }}\n{% endmacro %}",
    )];
    let text = "{% import 'a.jinja' as a %}\nweb:\n  file: {{ a.outer({}) }}\n";
    let error = render(&files, text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Undefined);
    let location = error.location().unwrap();
    assert_eq!((location.name(), location.line()), ("/cache/a.jinja", 5));
    assert_eq!(
        error.report(),
        "/cache/a.jinja:5:12: 'dict object' has no attribute 'name'\n  |\n5 | \t{{ x.name.first }}\n  \
         | \t          ^\nin macro 'inner', /cache/a.jinja:2:6\nin macro 'outer', \
         salt://app/init.sls:3:14"
    );
}

#[test]
fn an_error_in_a_tag_of_several_lines_knows_the_line_that_jinja_tells() {
    for (text, statement, line) in [
        ("x\n{{ {\n  'a': no.b\n} }}", 2, 3),
        ("x\n{% set x = {\n  'a': 1,\n  'b': no.b.c,\n} %}", 2, 4),
        ("x\n{{\n  no.b.c\n}}", 3, 3),
        ("x\n{{ 1 +\n  no.b.c }}", 2, 3),
        ("x\n{{ {'a': 1}\n  .get(\n    no.b) }}", 3, 4),
        ("x\n{% for a in [\n  1,\n  no.b ] %}{% endfor %}", 2, 4),
        (
            "x\n{% if x is defined\n  and y %}\n{% elif\n  no.b.c %}{% endif %}",
            5,
            5,
        ),
        (
            "x\n{% macro m(a) %}\n{{ {\n  'a': no.b } }}\n{% endmacro %}{{ m(\n  1) }}",
            3,
            4,
        ),
    ] {
        let error = render(&[], text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Undefined, "{text}");
        assert_eq!(error.statement().unwrap().line(), statement, "{text}");
        assert_eq!(error.location().unwrap().line(), line, "{text}");
    }
}

#[test]
fn a_syntax_error_in_an_import_names_both_files() {
    let files = [("b.jinja", "ok\n{% if %}")];
    let error = render(&files, "x\n{% import 'b.jinja' as b %}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Syntax);
    assert_eq!(error.location().unwrap().line(), 2);
    assert!(
        error
            .report()
            .contains("in 'b.jinja', salt://app/init.sls:2:4"),
        "{}",
        error.report()
    );
}

#[test]
fn a_missing_template_is_told_by_its_name() {
    assert_error(
        "{% import 'nope.jinja' as n %}",
        ErrorKind::NotFound,
        "nope.jinja",
    );
}

#[test]
fn parsed_templates_are_shared_between_threads() {
    let engine = Engine::new(Settings::salt());
    let template = engine
        .parse("t", "{% for i in range(3) %}{{ i }}{% endfor %}")
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let template = template.clone();
            scope.spawn(move || {
                let host = Minion::default();
                assert_eq!(template.render(&host, &Globals::new()).unwrap(), "012");
            });
        }
    });
}

#[test]
fn data_goes_in_and_comes_out_the_same() {
    let data: Data = Data::List(vec![
        Data::Nil,
        true.into(),
        5_i64.into(),
        Data::Float(1.5),
        "x".into(),
        Data::Bytes(vec![0xff]),
        Data::Map([("k", Data::List(Vec::new()))].into_iter().collect()),
    ]);
    assert_eq!(Value::from_data(&data).to_data().unwrap(), data);
}

#[test]
fn a_mistake_of_the_grammar_is_told_before_characters_behind_it() {
    let text = "{% if true %}{{ {'a'} }}{% endif %}\n{{ a & b }}";
    assert_error(text, ErrorKind::Syntax, "expected token ':', got '}'");
    let message = "unexpected char '&' at 5";
    assert_error("{{ a & b }}{{ {'a'} }}", ErrorKind::Syntax, message);
}
