//! Hostile documents, errors for people, and properties of all documents.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use halite_proto::{Map, Value};
use halite_yaml::limits::DEPTH_MAX;
use halite_yaml::{
    DumpOptions, ErrorKind, NodeKind, Span, dump, load, load_bytes, load_data, scalar,
};
use proptest::prelude::*;

#[test]
fn a_few_aliases_do_not_become_billions_of_nodes() {
    let mut text = String::from("a0: &a0 [x, x]\n");
    for level in 1..40 {
        let below = level - 1;
        text.push_str(&format!("a{level}: &a{level} [*a{below}, *a{below}]\n"));
    }
    assert_eq!(load(&text, "f").unwrap_err().kind, ErrorKind::Limit);
}

#[test]
fn nested_merges_do_not_explode() {
    let mut text = String::from("x: {<<: [&a0 {k: 1}");
    for level in 1..60 {
        let below = level - 1;
        text.push_str(&format!(", &a{level} {{<<: [*a{below}, *a{below}]}}"));
    }
    text.push_str("]}\n");
    assert_eq!(load(&text, "f").unwrap_err().kind, ErrorKind::Limit);
}

#[test]
fn depth_is_bounded_in_every_form() {
    for open in ["[", "{a: ", "- ", "? ", "[? "] {
        let error = load(&open.repeat(100_000), "f").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit, "{open:?}");
    }
    let mut nested = String::new();
    for level in 0..10_000 {
        nested.push_str(&" ".repeat(level % 500));
        nested.push_str("a:\n");
    }
    assert!(load(&nested, "f").is_err());
}

#[test]
fn what_is_as_deep_as_allowed_fits_a_small_stack() {
    const STACK: usize = 1024 * 1024;
    let reader = std::thread::Builder::new().stack_size(STACK).spawn(|| {
        for (open, close) in [("[", "]"), ("{a: ", "}")] {
            let text = format!("{}x{}", open.repeat(DEPTH_MAX), close.repeat(DEPTH_MAX));
            let value = load(&text, "f").unwrap().to_value();
            let written = dump(
                &value,
                DumpOptions {
                    width: -1,
                    ..DumpOptions::flow()
                },
            );
            assert_eq!(written.trim_end(), text);
            let deeper = format!("{open}{text}{close}");
            assert_eq!(load(&deeper, "f").unwrap_err().kind, ErrorKind::Limit);
        }
    });
    reader.unwrap().join().unwrap();
}

#[test]
fn a_list_in_itself_is_refused() {
    for text in ["&a [*a]", "&a {b: *a}", "&a\n- &b {c: *a}", "&a {<<: *a}"] {
        assert!(load(text, "f").is_err(), "{text}");
    }
}

#[test]
fn an_error_shows_its_line() {
    let error = load("a: 1\nb:\n\t- x\n", "/srv/salt/top.sls").unwrap_err();
    assert_eq!(
        error.render(),
        "/srv/salt/top.sls:3:1: found character that cannot start any token \
         (while scanning for the next token from line 3)\n   - x\n  ^"
    );
    let error = load("web:\n  pkg: x\nweb:\n  y: z\n", "top.sls").unwrap_err();
    assert_eq!(
        error.render(),
        "top.sls:3:1: found conflicting ID 'web' (while constructing a mapping from line 1)\n  \
         web:\n  ^"
    );
    assert_eq!(
        load("a: !!python/object:os.system x", "f")
            .unwrap_err()
            .to_string(),
        "f:1:4: could not determine a constructor for the tag \
         'tag:yaml.org,2002:python/object:os.system'"
    );
    let error = load_bytes(b"a: 1\nb: \xff\n", "f").unwrap_err();
    assert_eq!(error.to_string(), "f:2:4: the text is not UTF-8");
}

#[test]
fn nodes_know_their_places() {
    let node = load("a: 1\nb:\n  - x\n  - é: &k {y: z}\nc: *k\n", "f").unwrap();
    let place = |line, column| Span { line, column };
    let (key, value) = node.entry("b").unwrap();
    assert_eq!((key.span, value.span), (place(2, 1), place(3, 3)));
    let inner = value.as_list().unwrap()[1].get("é").unwrap();
    assert_eq!(inner.span, place(4, 8));
    let alias = node.get("c").unwrap();
    assert_eq!(alias.span, inner.span);
    assert!(alias.shared.is_some() && alias.shared == inner.shared);
    assert_eq!(value.shared, None);
    assert!(matches!(alias.value, NodeKind::Map(_)));
}

#[test]
fn a_scalar_of_the_command_line() {
    for (text, value) in [
        ("1", Value::Int(1)),
        ("0644", Value::Int(644)),
        ("yes", Value::Bool(true)),
        ("", Value::Nil),
        ("1.5", Value::Float(1.5)),
        ("2020-01-01", Value::from("2020-01-01")),
        ("0b_", Value::from("0b_")),
        ("<<", Value::from("<<")),
        ("a b", Value::from("a b")),
    ] {
        assert_eq!(scalar(text), value, "{text:?}");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("NaN", |float| !float.is_nan())
            .prop_map(Value::Float),
        "[ -~\n\t]{0,90}".prop_map(Value::Str),
        any::<String>().prop_map(Value::Str),
        any::<Vec<u8>>().prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            prop::collection::vec(("[ -~]{0,12}", inner), 0..5)
                .prop_map(|entries| Value::Map(entries.into_iter().collect::<Map>())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_dumped_loads_again(value in values(), which in 0..3) {
        let options = match which {
            0 => DumpOptions::block(),
            1 => DumpOptions::flow(),
            _ => DumpOptions::default(),
        };
        let text = dump(&value, options.unsorted());
        prop_assert_eq!(load(&text, "f").unwrap().to_value(), value, "{}", text);
    }

    #[test]
    fn no_text_panics(text in "([-:?,\\[\\]{}#&*!|>'\"%@` \n\t]|a|<<|---|\\\\x|é|\r){0,40}") {
        let node = load(&text, "f").map(|node| node.to_value());
        prop_assert_eq!(load_data(&text, "f").map(|data| data.value), node);
    }

    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        let _ = load_bytes(&bytes, "f");
    }
}
