//! The master judges arguments and the minion parses them: where the master is
//! certain, the minion does the same, whatever the arguments are.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use halite_call::args::{Parted, part, part_surely, yamlify};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;
use proptest::collection::vec;
use proptest::prelude::*;

const MARK: &str = "__kwarg__";

/// How a minion of Salt parts arguments, by the expression that Salt has for
/// names; of letters that are not ASCII it is not asked.
fn as_minions_do(args: &[Value]) -> Parted {
    let name = Pcre::new(r"[A-Za-z_][A-Za-z0-9_.-]*=(?!=)[^\n]*\n?\Z").unwrap();
    let mut parted = Parted::default();
    for arg in args {
        match arg {
            Value::Map(map) if map.get(MARK) == Some(&true.into()) => {
                let named = map.iter().filter(|(name, _)| **name != MARK.into());
                for (name, value) in named {
                    parted.named.push((name.clone(), value.clone()));
                }
            }
            Value::Str(text) if name.matches_start(text).unwrap() => {
                let at = text.find('=').unwrap();
                let value = text[at + 1..].trim_end_matches('\n');
                parted.named.push((text[..at].into(), yamlify(value)));
            }
            other => parted.positional.push(other.clone()),
        }
    }
    parted
}

/// Texts with what decides about names, more often than anything else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab_.=\\-17 \n#\\[\\]'\u{b2}\u{e4}\u{345}]{0,7}",
        "[abc]=[abc1=\n]{0,3}",
        any::<String>(),
    ]
}

fn argument() -> impl Strategy<Value = Value> {
    let mark = prop_oneof![
        4 => Just(Value::from(true)),
        1 => Just(Value::from(false)),
        1 => Just(Value::from(1)),
        1 => Just(Value::from("True")),
    ];
    let name = prop_oneof![
        6 => "[abc]".prop_map(Value::from),
        1 => text().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
    ];
    let entries = || vec((name.clone(), any::<i64>()), 0..3);
    let map = |entries: Vec<(Value, i64)>| {
        let entries = entries.into_iter();
        entries
            .map(|(name, value)| (name, Value::from(value)))
            .collect::<Map>()
    };
    prop_oneof![
        6 => text().prop_map(Value::from),
        2 => (mark, entries()).prop_map(move |(mark, entries)| {
            let mut marked = map(entries);
            marked.insert(MARK, mark);
            marked.into()
        }),
        1 => entries().prop_map(move |entries| map(entries).into()),
        1 => vec(text().prop_map(Value::from), 0..3).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Nil),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_judged_is_what_the_minion_does(args in vec(argument(), 0..5)) {
        let Some(sure) = part_surely(&args) else {
            return Ok(());
        };
        prop_assert_eq!(&sure, &part(&args));
        prop_assert_eq!(&sure, &as_minions_do(&args));
        let mut names: Vec<_> = sure.named.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        prop_assert!(names.iter().all(Option::is_some));
        prop_assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    /// Nor is it sure of little: what is plain is judged.
    #[test]
    fn what_is_plain_is_judged(
        texts in vec("[a-z /-]{0,6}", 0..4),
        names in proptest::collection::btree_set("[a-z]{1,3}", 0..3),
    ) {
        let named = names.iter().map(|name| Value::from(format!("{name}=x")));
        let args: Vec<Value> = texts.iter().cloned().map(Value::from).chain(named).collect();
        let parted = part_surely(&args).unwrap();
        prop_assert_eq!((parted.positional.len(), parted.named.len()), (texts.len(), names.len()));
    }
}
