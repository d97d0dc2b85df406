//! Undefined values within the maps that templates pass to functions which pick and
//! merge, as the maps of formulas do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use halite_proto::Value;

use crate::local_minion::LocalMinion;

/// What the low data of one SLS is.
fn low(sls: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let minion = LocalMinion::laid_out(dir.path(), ("role", "web"));
    std::fs::write(dir.path().join("srv/a.sls"), sls).unwrap();
    minion.call("state.show_low_sls", &["a"]).ret
}

fn error(sls: &str) -> String {
    let low = low(sls);
    let first = low.as_list().and_then(|errors| errors.first());
    let text = first.and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{low:?}")).to_owned()
}

#[test]
fn a_part_that_is_not_picked_may_be_undefined() {
    let low = low("\
{% set known = {'web': {'port': 80}} %}
{% set picked = salt['grains.filter_by'](
     {'web': {'port': known.web.port}, 'db': {'port': known.db, 'list': [known.db]}},
     grain='role', merge={'user': 'app'}) %}
{% set merged = salt['slsutil.merge']({'a': known.nope}, {'b': picked.port}) %}
{% do salt['defaults.merge'](merged, {'c': 3}) %}
x:
  test.nop:
    - port: {{ picked.port }}
    - user: {{ picked.user }}
    - b: {{ merged.b }}
    - c: {{ merged.c }}
    - is_there: {{ merged.a is defined }}
    - default: {{ merged.a | default('none') }}
");
    let chunk = &low.as_list().unwrap()[0];
    let value = |key: &str| chunk.get(key).unwrap_or_else(|| panic!("{low:?}")).clone();
    assert_eq!(value("port"), 80.into());
    assert_eq!(value("user"), "app".into());
    assert_eq!((value("b"), value("c")), (80.into(), 3.into()));
    assert_eq!(value("is_there"), false.into());
    assert_eq!(value("default"), "none".into());
}

#[test]
fn it_is_an_error_where_it_is_used() {
    let text = error(
        "\
{% set known = {'web': {'port': 80}} %}
{% set picked = salt['grains.filter_by']({'web': {'port': known.web.nope}}, grain='role') %}
x:
  test.nop:
    - port: {{ picked.port }}
",
    );
    let expected = "Rendering SLS 'base:a' failed: Jinja variable 'dict object' has no attribute \
                    'nope'; line 5\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn other_functions_do_not_take_it() {
    let text = error("x:\n  test.nop:\n    - a: {{ salt['test.echo']({'a': {}.nope}) }}\n");
    assert!(
        text.contains("'dict object' has no attribute 'nope'"),
        "{text}"
    );
    let text = error("x:\n  test.nop:\n    - a: {{ salt['slsutil.merge']({}.nope, {}) }}\n");
    assert!(
        text.starts_with("Rendering SLS 'base:a' failed: Jinja "),
        "{text}"
    );
}
