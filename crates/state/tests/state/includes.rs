//! `include` in all its forms, and declarations of several SLS in one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::memory_tree::Tree;
use halite_proto::Value;
use halite_state::Mistake;

fn ids(tree: &Tree, sls: &[&str]) -> Vec<String> {
    let (high, errors) = tree.render(sls);
    assert_eq!(errors, Vec::<String>::new());
    high.keys()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

fn errors(tree: &Tree, sls: &[&str]) -> Vec<String> {
    let mistakes = tree.render(sls).1;
    mistakes.into_iter().map(Mistake::into_text).collect()
}

#[test]
fn dots_are_directories() {
    let tree = Tree::new(&[
        ("a/init.sls", "include: [.x]\na: test.nop"),
        ("a/x.sls", "include: [.sub.y, ..top_one]\nx: test.nop"),
        ("a/sub/y.sls", "y: test.nop"),
        ("top_one.sls", "t: test.nop"),
        ("far.sls", "include: ['...up']"),
    ]);
    assert_eq!(ids(&tree, &["a"]), ["a", "x", "y", "t"]);
    assert_eq!(
        errors(&tree, &["far"]),
        [
            "Attempted relative include of '...up' within SLS 'base:far' goes beyond top level package "
        ]
    );
}

#[test]
fn patterns_and_other_environments() {
    let tree = Tree::new(&[
        (
            "a.sls",
            "include: ['p.*', {dev: d}, {gone: x}]\na: test.nop",
        ),
        ("p/one.sls", "one: test.nop"),
        ("p/two.sls", "two: test.nop"),
        ("any.sls", "include: [{_xenv: a}, {_xenv: nothing}]"),
    ])
    .with("dev", &[("d.sls", "d: test.nop")]);
    let (high, wrong) = tree.render(&["a"]);
    assert_eq!(high.keys().count(), 4);
    assert_eq!(
        high.get("d").and_then(|body| body.get("__env__")),
        Some(&Value::from("dev"))
    );
    assert_eq!(
        wrong,
        ["Nonexistent saltenv 'gone' found in include of 'x' within SLS 'base:a'"]
    );
    assert_eq!(
        errors(&tree, &["any"]).last().unwrap(),
        "Unknown include: Specified SLS _xenv: nothing is not available on the salt master in saltenv(s): base "
    );
}

#[test]
fn a_circle_of_includes_ends() {
    let tree = Tree::new(&[
        ("a.sls", "include: [b]\na: test.nop"),
        ("b.sls", "include: [a, b]\nb: test.nop"),
    ]);
    assert_eq!(ids(&tree, &["a"]), ["a", "b"]);
}

#[test]
fn a_chain_of_includes_has_an_end() {
    let mut tree = Tree::default();
    for n in 0..1000 {
        let text = format!("include: [s{}]\ni{n}: test.nop", n + 1);
        tree.files
            .insert(("base".into(), format!("s{n}.sls")), text);
    }
    let errors = errors(&tree, &["s0"]);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains("too deep"), "{}", errors[0]);
}

#[test]
fn who_included_is_told_from_near_to_far() {
    let tree = Tree::new(&[
        ("a.sls", "include: [b]"),
        ("b.sls", "include: [c]"),
        ("c.sls", "c: test.nop"),
    ]);
    let (high, _) = tree.render(&["a"]);
    let from = high
        .get("c")
        .and_then(|body| body.get("__sls_included_from__"));
    assert_eq!(from, Some(&crate::memory_tree::yaml("[b, a]")));
}

#[test]
fn mistakes_are_told_in_salts_words() {
    let tree = Tree::new(&[
        ("text.sls", "just text"),
        ("noinc.sls", "include: nothing"),
        ("missing.sls", "include: [nope]"),
        (
            "kinds.sls",
            "extend: 1\nexclude: x\na: 5\nb: {test.nop: [], test.ping: []}",
        ),
        ("ext.sls", "extend: {a: 1}"),
        ("one.sls", "same: test.nop"),
        ("two.sls", "same: test.ping"),
    ]);
    assert_eq!(
        errors(&tree, &["text", "one", "two", "absent"]),
        [
            "SLS text does not render to a dictionary",
            "Error when rendering state with contents: just text",
            "Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is 'same' and is found in SLS 'base:one' and SLS 'base:two'",
            "No matching sls found for 'absent' in env 'base'",
        ]
    );
    assert_eq!(
        errors(&tree, &["noinc", "missing"]),
        [
            "Include Declaration in SLS noinc is not formed as a list",
            "ID include in SLS noinc is not a dictionary",
            "Specified SLS nope in saltenv base is not available on the salt master or through a configured fileserver",
        ]
    );
    assert_eq!(
        errors(&tree, &["kinds", "ext"]),
        [
            "Extension value in SLS 'kinds' is not a dictionary",
            "Exclude Declaration in SLS kinds is not formed as a list",
            "ID a in SLS kinds is not a dictionary",
            "ID 'b' in SLS 'kinds' contains multiple state declarations of the same type",
            "Extension name 'a' in SLS 'ext' is not a dictionary",
        ]
    );
}

#[test]
fn an_environment_without_files_is_told() {
    let tree = Tree::new(&[("a.sls", "a: test.nop")]);
    let matches = halite_proto::Map::from([("gone", crate::memory_tree::yaml("[a]"))]);
    let (_, errors) = halite_state::Compiler::new(&tree).render(&matches);
    assert_eq!(
        errors,
        [
            "No matching salt environment for environment 'gone' found",
            "No matching sls found for 'a' in env 'gone'"
        ]
    );
}
