//! How real Salt 3008.5 parses argument texts (`real/arguments.jsonl`).
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use halite_call::args::{keyword, yamlify};
use halite_fake_minion::{from_json, to_json};
use halite_proto::Value;
use serde_json::Value as Json;

#[test]
fn texts_are_read_as_salt_reads_them() {
    let mut different = Vec::new();
    for line in include_str!("../real/arguments.jsonl").lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let ours = yamlify(case[0].as_str().unwrap());
        if ours != from_json(&case[1]) {
            different.push(format!(
                "{} ours {} theirs {}",
                case[0],
                to_json(&ours),
                case[1]
            ));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn names_before_an_equals_sign_make_keywords() {
    for (text, name, value) in [
        ("a=1", "a", Value::from(1)),
        ("a.b=x", "a.b", "x".into()),
        ("a-b=x", "a-b", "x".into()),
        ("_a=", "_a", "".into()),
        ("ž=b=c", "ž", "b=c".into()),
        ("a= 1", "a", 1.into()),
        ("a=\n", "a", "".into()),
    ] {
        assert_eq!(keyword(text), Some((name, value)), "{text}");
    }
    for text in [
        "a==1", "=1", "a b=1", "1a=1", "a=1\nb", "-a=1", "a:b=1", "a[0]=1", "a",
    ] {
        assert_eq!(keyword(text), None, "{text}");
    }
}
