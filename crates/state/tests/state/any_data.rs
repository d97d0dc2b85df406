//! Whatever an SLS renders to, compiling ends without a panic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::memory_tree::Tree;
use halite_proto::{Map, Value};
use halite_state::{Compiler, high};
use proptest::collection::vec;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "b",
        "c",
        "x*",
        "test",
        "test.nop",
        "cmd.run.more",
        "nop",
        "name",
        "names",
        "order",
        "require",
        "watch",
        "prereq",
        "onfail_any",
        "require_in",
        "watch_in",
        "use",
        "use_in",
        "listen_in",
        "sls",
        "id",
        "s",
        "t",
        "include",
        "extend",
        "exclude",
        "__sls__",
        "__env__",
        "__extend__",
        "__exclude__",
        "first",
        "last",
        ".",
        "..t",
        "_xenv",
        "base",
        "",
        "state",
        "a b",
        "aggregate",
        "match",
        "subfilter",
    ])
    .prop_map(str::to_owned)
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => word().prop_map(Value::Str),
        1 => Just(Value::Nil),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::Float),
    ]
}

fn data() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::List),
            vec((word(), inner), 0..6)
                .prop_map(|entries| Value::Map(entries.into_iter().collect::<Map>())),
        ]
    })
}

/// Declarations that are nearly right.
fn declarations() -> impl Strategy<Value = Value> {
    let reference = prop_oneof![
        3 => (word(), word()).prop_map(|(key, value)| Map::from([(key, value)]).into()),
        1 => word().prop_map(Value::Str),
        1 => data(),
    ];
    let arg = prop_oneof![
        2 => (word(), vec(reference, 0..4))
            .prop_map(|(key, list)| Map::from([(key, Value::List(list))]).into()),
        1 => (word(), leaf()).prop_map(|(key, value)| Map::from([(key, value)]).into()),
        1 => data(),
    ];
    let body = (word(), vec(arg, 0..5))
        .prop_map(|(fun, args)| Value::Map(Map::from([(fun, Value::List(args))])));
    vec((word(), body), 0..8).prop_map(|entries| Value::Map(entries.into_iter().collect::<Map>()))
}

fn text(value: &Value) -> String {
    let options = halite_output::RenderOptions::default();
    halite_output::render_as(halite_output::Outputter::Json, value, &options)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_sls_compiles_or_is_refused(
        s in prop_oneof![data(), declarations()],
        t in declarations(),
        top in data(),
    ) {
        let tree = [text(&s), text(&t), text(&top)].join("\n=\n");
        crate::memory_tree::trees::compile(tree.as_bytes());
    }

    #[test]
    fn any_text_compiles_or_is_refused(tree in "([-:,\\[\\]{}#&*' \n]|a|b|test.nop|require|include|extend|\n=\n){0,60}") {
        crate::memory_tree::trees::compile(tree.as_bytes());
    }

    #[test]
    fn any_high_data_compiles_or_is_refused(high in prop_oneof![data(), declarations()]) {
        let Value::Map(high) = high else {
            return Ok(());
        };
        let tree = Tree::default();
        let compiler = Compiler::new(&tree);
        let _ = high::pad_template(Value::Map(high.clone()), "t");
        if let Ok(low) = compiler.low(high) {
            // Every chunk is in the order, after what it depends on.
            let mut seen = std::collections::HashSet::new();
            for turn in &low.order {
                for dependency in low.graph.dependencies(*turn) {
                    prop_assert!(seen.contains(&dependency.on));
                }
                seen.insert(*turn);
            }
        }
    }
}

#[test]
fn many_states_compile_without_a_square_of_work() {
    use std::fmt::Write as _;
    let mut text = String::new();
    for n in 0..20_000 {
        writeln!(
            text,
            "\"i{n}\": {{\"test.nop\": [{{\"name\": \"n{n}\"}}, {{\"require\": [{{\"test\": \"n{}\"}}]}}, {{\"require_in\": [{{\"test\": \"i{}\"}}]}}]}}",
            n / 2 + 20_000 * usize::from(n < 2),
            (n + 1) % 20_001,
        )
        .unwrap();
    }
    writeln!(
        text,
        "\"i20000\": {{\"test.nop\": [{{\"name\": \"n20000\"}}]}}"
    )
    .unwrap();
    let tree = Tree::new(&[("s.sls", &text)]);
    // Too slow by a factor of a thousand, this would not end in time.
    match tree.low(&["s"]) {
        Ok(low) => assert_eq!(low.order.len(), 20_001),
        Err(errors) => assert!(
            errors[0].text().starts_with("Recursive requisites"),
            "{}",
            errors[0]
        ),
    }
}
