//! Our reader and writer compared with `serde_yaml`, which follows YAML 1.2, where
//! both standards agree. Its parser is another translation of libyaml than ours, so
//! a difference is a fault of one of them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump, load_data, scalar};
use proptest::prelude::*;
use serde_yaml::Value as Theirs;

/// What `serde_yaml` has read, as ours.
fn ours(theirs: &Theirs) -> Value {
    match theirs {
        Theirs::Null => Value::Nil,
        Theirs::Bool(bool) => (*bool).into(),
        Theirs::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => int.into(),
            (None, Some(int)) => int.into(),
            (None, None) => Value::Float(number.as_f64().unwrap()),
        },
        Theirs::String(text) => text.as_str().into(),
        Theirs::Sequence(items) => Value::List(items.iter().map(ours).collect()),
        Theirs::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| (ours(key), ours(value)));
            Value::Map(entries.collect::<Map>())
        }
        Theirs::Tagged(tagged) => panic!("no tag was written: {tagged:?}"),
    }
}

fn theirs(text: &str) -> Result<Value, serde_yaml::Error> {
    serde_yaml::from_str::<Theirs>(text).map(|read| ours(&read))
}

/// Whether both standards mean the same by a text, written without quotes:
/// `yes`, `1:30` and `012` are no texts in YAML 1.1, `1e3` and `0o14` none in 1.2. `=` and
/// `<<` have tags of their own in 1.1, which PyYAML refuses for data, as we do.
fn is_common(text: &str) -> bool {
    if matches!(text, "=" | "<<") {
        return false;
    }
    let is_text = |value: &Value| matches!(value, Value::Str(_));
    let read = serde_yaml::from_str::<Theirs>(text);
    let in_1_2 = read.is_ok_and(|value| matches!(value, Theirs::String(read) if read == text));
    is_text(&scalar(text)) == in_1_2
}

fn texts() -> impl Strategy<Value = String> {
    let any = "[ -~\n\té中]{0,24}";
    let names = "[a-z][a-z0-9_-]{0,8}";
    prop_oneof![any, names].prop_filter("the standards differ", |text| {
        text.trim() != text || text.contains('\n') || is_common(text)
    })
}

/// Data that both standards can write.
fn data() -> impl Strategy<Value = Theirs> {
    let leaf = prop_oneof![
        Just(Theirs::Null),
        any::<bool>().prop_map(Theirs::from),
        any::<i64>().prop_map(Theirs::from),
        // With a point and no exponent, as both know it.
        any::<i32>().prop_map(|number| Theirs::from(f64::from(number) / 64.0)),
        texts().prop_map(Theirs::from),
    ];
    let nested = leaf.prop_recursive(4, 40, 6, |inner| {
        let entries = proptest::collection::vec((texts(), inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(Theirs::Sequence),
            entries.prop_map(|entries| {
                let entries = entries.into_iter();
                Theirs::Mapping(entries.map(|(key, value)| (key.into(), value)).collect())
            }),
        ]
    });
    // A document of one scalar is ended in another way.
    proptest::collection::vec(nested, 1..4).prop_map(Theirs::Sequence)
}

/// Parts of documents, in which no scalar means anything but text or null.
const PARTS: [&str; 24] = [
    "a", "b c", ": ", ":", "- ", "-", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ", ", " # n",
    "'", "\"", "|", ">-", "&x ", "*x", "? ", "\t", "é",
];

proptest! {
    #[test]
    fn what_they_write_we_read(data in data()) {
        let text = serde_yaml::to_string(&data).unwrap();
        let read = load_data(&text, "f").map(|read| read.value);
        prop_assert_eq!(read, Ok(ours(&data)), "{}", text);
    }

    #[test]
    fn what_we_write_they_read(data in data()) {
        let value = ours(&data);
        for options in [DumpOptions::block(), DumpOptions::flow()] {
            let text = dump(&value, options);
            let read = theirs(&text);
            prop_assert!(read.is_ok(), "{:?}: {}", read, text);
            prop_assert_eq!(read.unwrap(), value.clone(), "{}", text);
        }
    }

    /// Whatever is put together: both read the same, or one of them refuses it.
    #[test]
    fn no_text_is_read_in_two_ways(parts in proptest::collection::vec(0..PARTS.len(), 1..16)) {
        let text: String = parts.into_iter().map(|part| PARTS[part]).collect();
        if let (Ok(read), Ok(theirs)) = (load_data(&text, "f"), theirs(&text)) {
            prop_assert_eq!(read.value, theirs, "{:?}", text);
        }
    }
}

#[test]
fn every_style_is_read_alike() {
    for text in [
        "a: |\n  one\n\n  two\nb: >\n  one\n  two\n\n  three\n",
        "a: |-\n  x\nb: |+\n  x\n\nc: >+\n  x\n\n",
        "a: |2\n    x\n   y\n",
        "- plain text\n  goes on\n-  'it''s\n  folded'\n- \"tab\\t, \\x41 \\u00e9 \\\n  joined\"\n",
        "{a: [1, -2, 3.5,], 'b': {c: ~, d: null, e: }}",
        "base: &base {x: 1}\nsame: *base\nlist: [&y z, *y]\n",
        "? key\n: value\n? other\n",
        "---\na: 1 # a comment\n# another\n...\n",
        "a:\r\n- 1\r\n- 2\r\n",
        "a:\n- x\n-\n  - y\n  -\n",
        "\u{feff}a: b\n",
        "a: 'x: y'\nb: x#y\nc: http://h:1/#z\n",
    ] {
        assert_eq!(
            load_data(text, "f").unwrap().value,
            theirs(text).unwrap(),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_document_is_refused_by_both() {
    for text in [
        "a: b: c",
        "[a",
        "{a: 1",
        "a:\n\t- b",
        "*no",
        "'open",
        "\"open",
        "a: 1\na: 2\n",
        "- a\nb: c\n",
        "a: 'x'y\n",
        "&a &b c",
        "a: |\n x\n  y\nz",
        "@a",
        "`a`",
        "%a",
    ] {
        assert!(load_data(text, "f").is_err(), "ours reads {text:?}");
        assert!(theirs(text).is_err(), "theirs reads {text:?}");
    }
}
