//! Templates that would never end, or need too much, end with an error; none of
//! them panics.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use halite_jinja::{
    Engine, ErrorKind, Globals, Host, Limits, LoadRequest, LoadedSource, NoHost, Result, Settings,
};
use proptest::prelude::*;

struct Itself(&'static str);

impl Host for Itself {
    fn load(&self, request: LoadRequest<'_>) -> Result<Option<LoadedSource>> {
        Ok(Some(LoadedSource {
            name: request.name.to_owned(),
            text: self.0.to_owned(),
            globals: Vec::new(),
            ..LoadedSource::default()
        }))
    }
}

fn render_with(host: &dyn Host, text: &str) -> Result<String> {
    let limits = Limits {
        steps_max: 2_000_000,
        output_bytes_max: 4 * 1024 * 1024,
        walk_values_max: 500_000,
        ..Limits::default()
    };
    let engine = Engine::new(Settings {
        limits,
        ..Settings::salt()
    });
    engine.parse("t", text)?.render(host, &Globals::new())
}

fn assert_limit(text: &str) {
    let error = render_with(&NoHost, text).expect_err(text);
    assert_eq!(error.kind(), ErrorKind::Limit, "{text:.60}: {error}");
}

#[test]
fn what_does_not_end_is_ended() {
    assert_limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    assert_limit(
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
    );
    assert_limit("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}");
    assert_limit("{% set l = [1] %}{% for x in l %}{% do l.append(x) %}{% endfor %}");
    assert_limit("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}");
    assert_limit("{% block a %}{{ self.a() }}{% endblock %}");
}

#[test]
fn what_is_too_large_is_refused() {
    assert_limit("{{ 'x' * 9999999999 }}");
    assert_limit("{{ [0] * 9999999999 }}");
    assert_limit(
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    );
    assert_limit("{% for i in range(99999) %}{{ 'x' * 999 }}{% endfor %}");
    assert_limit(
        "{% set l = [] %}{% for i in range(99999) %}{% do l.append('x' * 99999) %}{% endfor %}",
    );
    assert_limit("{% for i in range(99999) %}{% set x = range(9999) | list %}{% endfor %}");
    assert_limit("{% for i in range(99999) %}{% set x = [0] * 9999 %}{% endfor %}");
    assert_limit("{{ ('a' * 100000).replace('', 'b' * 100000) }}");
    assert_limit(
        "{{ ('a' * 1000000) | regex_replace('(x+x+)+y', 'b') if false else 'x'.ljust(999999999) }}",
    );
    assert_limit("{{ range(20) | permutations | list }}");
    let error = render_with(&NoHost, "{{ range(999999999) }}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overflow);
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("-", ""),
        ("not ", ""),
        ("{1:", "}"),
    ] {
        let text = format!("{{{{ {}1{} }}}}", open.repeat(50_000), close.repeat(50_000));
        assert_limit(&text);
    }
    assert_limit(&format!("{{{{ 1{} }}}}", " + 1".repeat(50_000)));
    assert_limit(&format!("{{{{ x{} }}}}", ".a".repeat(50_000)));
    assert_limit(&format!("{{{{ 'x'{} }}}}", " | upper".repeat(50_000)));
    assert_limit(&format!("{{{{ 1{} }}}}", " if 1 else 1".repeat(50_000)));
    assert_limit(&"{% if 1 %}".repeat(50_000));
    let deep = "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}";
    assert_eq!(render_with(&NoHost, deep).unwrap(), "");
    assert_limit(&format!("{deep}{{{{ ns.l }}}}"));
    assert_limit(&format!("{deep}{{{{ ns.l == [ns.l] }}}}"));
    assert_limit("{% set l = [] %}{% do l.append(l) %}{{ l }}");
    assert_limit("{% set d = {} %}{% do d.update({'d': d}) %}{{ d }}");
    assert_limit("{% set d = {} %}{% do d.update({'d': d}) %}{{ d | yaml }}");
}

#[test]
fn templates_that_use_themselves_are_ended() {
    for text in [
        "{% include 'x' %}",
        "{% import 'x' as m %}",
        "{% import 'x' as m with context %}",
        "{% from 'x' import m %}",
        "{% extends 'x' %}",
        "{% import_yaml 'x' as m %}",
    ] {
        let error = render_with(&Itself(text), text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{text}: {error}");
        assert!(error.report().len() < 8192);
    }
}

#[test]
fn nothing_but_data_is_reached() {
    for text in [
        "{{ ''.__class__ }}",
        "{{ ''['__class__'] }}",
        "{{ [].__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ range.__globals__ }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{0[__class__]}'.format('') }}",
        "{{ ''|method_call('__class__') }}",
        "{{ [''] | map(attribute='__class__') | first }}",
        "{% macro m() %}{% endmacro %}{{ m.__init__ }}",
        "{{ cycler('a').__init__.__globals__ }}",
        "{{ self.__init__ }}",
    ] {
        let result = render_with(&NoHost, text);
        match result {
            Ok(output) => assert_eq!(output, "None", "{text}"),
            Err(error) => assert!(
                matches!(error.kind(), ErrorKind::Security | ErrorKind::Undefined),
                "{text}: {error}"
            ),
        }
    }
}

const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "+",
    " ",
    "\n",
    "if",
    "endif",
    "else",
    "elif",
    "for",
    "in",
    "endfor",
    "set",
    "endset",
    "macro",
    "endmacro",
    "call",
    "endcall",
    "filter",
    "endfilter",
    "raw",
    "endraw",
    "block",
    "endblock",
    "do",
    "with",
    "endwith",
    "load_yaml",
    "as",
    "endload",
    "x",
    "l",
    "loop",
    "loop.last",
    "m()",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "|",
    ".",
    "=",
    "==",
    "~",
    "*",
    "**",
    "//",
    "%",
    "'a'",
    "\"b\"",
    "'",
    "1",
    "-1",
    "2.5",
    "0",
    "none",
    "true",
    "is",
    "not",
    "and",
    "or",
    "defined",
    "string",
    "upper",
    "join",
    "default",
    "map",
    "sort",
    "first",
    "last",
    "int",
    "indent",
    "replace('a','')",
    "format",
    "'%s%d{}'",
    "range(3)",
    "\\",
    "é",
    "☃",
    "[1,[2,'x']]",
    "{'a':1}",
    "[::-1]",
    "batch(0)",
    "slice(2)",
    "wordwrap(1)",
    "truncate(3)",
    "round(2)",
    "regex_replace('(a|b)*','\\\\1')",
    "pprint",
    "tojson",
    "recursive",
];

/// Lists that share their items take no memory, but there is no end to walking
/// through them.
#[test]
fn what_is_small_and_endless_is_ended() {
    const SHARED: &str = "{% set n = namespace(l=[1], t=(1,), m=[1]) %}{% for i in range(60) %}\
        {% set n.l = [n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% set n.t = (n.t, n.t) %}{% endfor %}";
    for walk in [
        "{{ n.l }}",
        "{{ n.t }}",
        "{{ {'a': n.l} }}",
        "{{ {'a': {'b': n.t}} }}",
        "{{ n.l | string | length }}",
        "{{ n.l | json }}",
        "{{ n.l | tojson }}",
        "{{ n.l | yaml }}",
        "{{ n.l | pprint }}",
        "{{ n.l == n.m }}",
        "{{ n.l < n.m }}",
        "{{ n.m in [n.l] }}",
        "{{ [n.l, n.m] | sort }}",
        "{{ [n.l, n.m] | unique }}",
        "{{ {n.t: 1} }}",
        "{{ n.l ~ '' }}",
        "{{ '%s' | format(n.l) }}",
        "{{ '{}'.format(n.l) }}",
        "{{ n.l | flatten | length }}",
        "{{ n.l | join(',') }}",
        "{{ n.l | hmac('a', 'b') }}",
        "{{ n.l | to_num }}",
    ] {
        let text = format!("{SHARED}{walk}");
        let outcome = render_with(&NoHost, &text);
        if let Err(error) = outcome {
            let kinds = [ErrorKind::Limit, ErrorKind::Type, ErrorKind::Value];
            assert!(kinds.contains(&error.kind()), "{walk}: {error}");
        }
    }
    assert_limit("{{ [[0] * 100000] * 100000 }}");
    assert_limit("{{ [1] | batch(10**9, 0) | first | length }}");
    assert_limit("{{ [1] | slice(9999999, 0) | first | length }}");
    assert_limit("{{ {'a': ['x' * 1000000] * 100000} }}");
    assert_limit("{{ 'a'.join(['b' * 1000000] * 10000) | length }}");
    assert_limit("{{ (['b' * 1000000] * 10000) | join('a') | length }}");
    assert_limit("{{ ('\\n' * 1000000) | indent(1000000, blank=True) | length }}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(picks in prop::collection::vec(0..PIECES.len(), 0..40)) {
        let text: Vec<&str> = picks.iter().map(|at| PIECES[*at]).collect();
        let _ = render_with(&NoHost, &text.join(" "));
        let _ = render_with(&NoHost, &text.concat());
        let _ = render_with(&NoHost, &format!("{{{{ {} }}}}", text.join(" ")));
    }
}
