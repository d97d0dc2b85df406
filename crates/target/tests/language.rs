//! The target language for people: errors with their place, limits, and no panics.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use halite_proto::{Map, Value};
use halite_target::{Reading, Subject, Target};
use proptest::prelude::*;

struct Web1(Map);

impl Subject for Web1 {
    fn id(&self) -> &str {
        "web1"
    }

    fn grains(&self) -> Option<&Map> {
        Some(&self.0)
    }

    fn pillar(&self) -> Option<&Map> {
        None
    }
}

fn web1() -> Web1 {
    Web1(Map::from([
        ("os", Value::from("Debian")),
        ("roles", Value::List(vec!["web".into(), "cache".into()])),
    ]))
}

fn compound(text: &str) -> Target {
    Target::parse(&Value::from(text), "compound", ":").unwrap()
}

#[test]
fn and_binds_tighter_than_or() {
    for (text, meant) in [
        ("web1 or zzz and zzz", true),
        ("zzz and zzz or web1", true),
        ("( web1 or zzz ) and zzz", false),
        ("not zzz and web1", true),
        ("not ( zzz or web1 )", false),
        ("web* not zzz", true),
        ("G@os:Debian and G@roles:cache", true),
        ("G|@os|debian", true),
        ("I@a:b", false),
    ] {
        assert_eq!(compound(text).matches(&web1()), meant, "{text}");
    }
}

#[test]
fn a_list_of_words_may_hold_blanks() {
    let words = Value::List(vec!["web 1".into(), "or".into(), "web1".into()]);
    let target = Target::parse(&words, "compound", ":").unwrap();
    assert!(target.matches(&web1()));
}

#[test]
fn errors_name_the_byte() {
    for (text, offset, message) in [
        ("", 0, "the target is empty"),
        ("and web1", 0, "`and` where a target is expected"),
        ("web1 )", 5, "unmatched `)`"),
        ("web1 web2", 5, "there is no `and` or `or` before `web2`"),
        (
            "web1 and",
            8,
            "the target ends where another one is expected",
        ),
        ("( web1", 0, "this `(` is never closed"),
        ("web1 and ( web2 or ( web3 )", 9, "this `(` is never closed"),
        ("( or web1 )", 2, "`or` where a target is expected"),
        ("not not web1", 4, "`not` twice in a row"),
        ("žž and E@web[", 14, "unterminated character set"),
        (
            "web1 or S@10.0.0.1/8",
            19,
            "\"10.0.0.1/8\" has host bits set: it is not a network",
        ),
        ("web1 and N@x", 11, "there is no node group \"x\""),
        ("T@ssh:x", 0, "targets of the kind `T@` are not supported"),
        ("R@%web", 2, "nobody is asked for ranges here"),
    ] {
        let error = Target::parse(&Value::from(text), "compound", ":").unwrap_err();
        assert_eq!(
            (error.offset, error.message.as_str()),
            (offset, message),
            "{text}"
        );
    }
}

#[test]
fn other_kinds_are_checked_too() {
    for (tgt, tgt_type) in [
        (Value::from(1), "glob"),
        (Value::Nil, "compound"),
        (Value::Map(Map::new()), "list"),
        (Value::from("os"), "grain"),
        (Value::from("os:(x"), "grain_pcre"),
        (Value::from("nonsense"), "ipcidr"),
        (Value::from("x"), "nodegroup"),
        (Value::from("x"), "no such type"),
    ] {
        assert!(
            Target::parse(&tgt, tgt_type, ":").is_err(),
            "{tgt:?} {tgt_type}"
        );
    }
}

#[test]
fn the_ids_that_can_be_missing_are_known() {
    let target = compound("web* and L@web1,web2 or not L@web3");
    assert_eq!(target.named_ids(), ["web1", "web2"]);
    assert!(!target.needs_data());
    assert!(compound("web1 or not G@os:x").needs_data());
}

#[test]
fn deep_and_long_targets_are_bounded() {
    let deep = format!("{} web1", "( ".repeat(100_000));
    assert!(Target::parse(&Value::from(deep), "compound", ":").is_err());
    let long = vec!["web*"; 20_000].join(" or ");
    assert!(compound(&long).matches(&web1()));
    let levels = vec!["a"; 1000].join(":");
    assert!(Target::parse(&Value::from(levels), "grain", ":").is_err());
    let groups: Map = (0..200)
        .map(|n| (format!("g{n}"), format!("N@g{} or N@g{}", n + 1, n + 1)))
        .collect();
    let reading = Reading {
        nodegroups: Some(&groups),
        ranges: None,
        ..Reading::default()
    };
    assert!(Target::parse_with(&Value::from("g0"), "nodegroup", &reading).is_err());
}

/// What one minion says may be judged for another: neither many expressions nor
/// long texts may cost more than a moment.
#[test]
fn many_expressions_and_long_texts_are_bounded() {
    let many = |count: usize| {
        let words: Vec<String> = (0..count).map(|n| format!("P@os:(a+)+{n}$")).collect();
        Target::parse(&words.join(" or ").into(), "compound", ":")
    };
    assert!(many(128).is_ok());
    let error = many(129).unwrap_err();
    assert!(error.message.contains("regular expressions"), "{error}");
    let grains = |text: String| Web1(Map::from([("os", text)]));
    let evil = compound(&format!("G@os:*{}b", "a".repeat(30_000)));
    assert!(!evil.matches(&grains("a".repeat(16 * 1024 * 1024))));
    assert!(compound("G@os:a*").matches(&grains("a".repeat(64 * 1024))));
    assert!(!compound("G@os:a*").matches(&grains("a".repeat(64 * 1024 + 1))));
    let texts = vec![Value::from("a".repeat(60_000)); 10_000];
    assert!(!compound("P@os:(a+)+b").matches(&Web1(Map::from([("os", texts)]))));
}

proptest! {
    #[test]
    fn no_text_panics(
        text in "([GPILES]@|[ ()|:*?\\[\\]{}^$+,.\\\\!-]|and |or |not |web|1|ž|N@){0,24}",
        kind in 0..9usize,
    ) {
        let kinds = [
            "glob", "pcre", "list", "grain", "grain_pcre", "pillar", "pillar_exact", "ipcidr",
            "compound",
        ];
        if let Ok(target) = Target::parse(&Value::from(text), kinds[kind], ":") {
            target.matches(&web1());
            target.named_ids();
        }
    }
}
