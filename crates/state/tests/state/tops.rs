//! Top files of one and of several environments.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::memory_tree::{Tree, yaml};
use halite_proto::{Map, Value};
use halite_state::compile::{TopError, verify_tops, whitelisted};
use halite_state::{Compiler, Settings};

/// What the top files give, as YAML of environments and lists.
fn check(tree: &Tree, expected: &str) {
    let compiler = Compiler::new(tree);
    let top = compiler.top().unwrap();
    assert_eq!(verify_tops(&top), Vec::<String>::new());
    assert_eq!(Value::Map(compiler.matches(&top)), yaml(expected));
}

fn two_envs(strategy: &str) -> Tree {
    let mut tree = Tree::new(&[(
        "top.sls",
        "base: {'*': [common, {dev: only_dev}, {nowhere: x}]}\ndev: {'*': [of_base]}",
    )])
    .with(
        "dev",
        &[(
            "top.sls",
            "base: {'*': [of_dev]}\ndev: {'*': [own], 'x*': [no]}",
        )],
    )
    .with("qa", &[("a.sls", "{}")]);
    tree.settings = Settings {
        top_file_merging_strategy: strategy.to_owned(),
        ..Settings::default()
    };
    tree
}

#[test]
fn base_decides_for_the_environments_it_names() {
    check(
        &two_envs("merge"),
        "{base: [common], dev: [only_dev, of_base]}",
    );
    // A strategy that does not exist is that one.
    check(
        &two_envs("nonsense"),
        "{base: [common], dev: [only_dev, of_base]}",
    );
}

#[test]
fn each_environment_may_speak_for_itself() {
    check(&two_envs("same"), "{base: [common], dev: [only_dev, own]}");
    let mut tree = two_envs("same");
    tree.files.insert(
        ("base".into(), "top.sls".into()),
        "base: {'*': [a]}\nqa: {'*': [of_base]}".into(),
    );
    check(&tree, "{base: [a], dev: [own], qa: [of_base]}");
    tree.settings.default_top = String::new();
    check(&tree, "{}");
}

/// Of the maps in the lists of one target only the last one is kept.
#[test]
fn all_top_files_may_count() {
    check(
        &two_envs("merge_all"),
        "{base: [common, of_dev], dev: [of_base, own]}",
    );
    let mut tree = two_envs("merge_all");
    tree.settings.env_order = vec!["dev".into(), "base".into(), "gone".into()];
    check(&tree, "{base: [of_dev, common], dev: [own, of_base]}");
}

#[test]
fn one_environment_may_be_asked_for() {
    let mut tree = two_envs("merge");
    tree.settings.saltenv = Some("dev".into());
    check(&tree, "{dev: [own]}");
    let mut tree = two_envs("merge");
    tree.settings.state_top_saltenv = Some("dev".into());
    check(&tree, "{dev: [own]}");
}

#[test]
fn a_top_file_may_include_others() {
    let tree = Tree::new(&[
        ("top.sls", "include: ['tops.*']\nbase: {'*': [a]}"),
        ("tops/x.sls", "base: {'m*': [b]}"),
        ("tops/y.sls", "base: {'n*': [c]}"),
    ]);
    check(&tree, "{base: [a, b]}");
    // What is included may include, also the top file itself.
    let tree = Tree::new(&[
        ("top.sls", "include: ['t*']\nbase: {m1: [a]}"),
        ("top2.sls", "include: [other]\nbase: {m1: [b]}"),
        ("other.sls", "base: {'*': [c]}"),
    ]);
    check(&tree, "{base: [b, c]}");
}

#[test]
fn targets_may_be_nested_and_kinds_named() {
    let tree = Tree::new(&[(
        "top.sls",
        "base: {'*': [a, {subfilter: {'m*': [b], 'n*': [c]}}, {match: glob}], 'm?': [{match: no_kind}, d], 'm1': e}",
    )]);
    let compiler = Compiler::new(&tree);
    let top = compiler.top().unwrap();
    assert_eq!(
        verify_tops(&top),
        [
            "Malformed topfile: state declarations for matcher 'm1' in saltenv 'base' are not formed as a list (got str)"
        ]
    );
    assert_eq!(
        Value::Map(compiler.matches(&top)),
        yaml("{base: [a, b, e]}")
    );
}

#[test]
fn the_masters_tops_come_before_or_after() {
    let mut tree = Tree::new(&[("top.sls", "base: {'*': [a, b]}")]);
    tree.tops = Map::from([("base", yaml("[b, c]")), ("dev", yaml("[d]"))]);
    check(&tree, "{base: [a, b, c], dev: [d]}");
    tree.settings.master_tops_first = true;
    check(&tree, "{base: [b, c, a], dev: [d]}");
}

#[test]
fn nonsense_is_told() {
    for (top, expected) in [
        ("base: null", TopError::NoTargets),
        ("base: [a]", TopError::NoTargets),
    ] {
        let tree = Tree::new(&[("top.sls", top)]);
        assert_eq!(Compiler::new(&tree).top(), Err(expected), "{top}");
    }
    // One that does not render is as good as none.
    check(&Tree::new(&[("top.sls", "base: [")]), "{}");
    let tree = Tree::new(&[("top.sls", "1: {'*': [a]}\nbase: {'*': [{match: ''}, '']}")]);
    assert_eq!(
        verify_tops(&Compiler::new(&tree).top().unwrap()),
        [
            "Environment 1 in top file is not formed as a string",
            "Improperly formatted top file matcher in saltenv OrderedDict([('match', '')]):  file",
            "Environment  contains an empty sls index",
        ]
    );
}

#[test]
fn a_run_may_be_cut_down_to_some_sls() {
    let Value::Map(matches) = yaml("{base: [a, b], dev: [c]}") else {
        unreachable!()
    };
    let kept = whitelisted(matches, &["b".to_owned()]);
    assert_eq!(Value::Map(kept), yaml("{base: [b]}"));
}

#[test]
fn usage_counts_what_is_there() {
    let tree = Tree::new(&[
        ("top.sls", "base: {'*': [a]}"),
        ("a.sls", "{}"),
        ("b/init.sls", "{}"),
    ]);
    let compiler = Compiler::new(&tree);
    let matches = compiler.matches(&compiler.top().unwrap());
    assert_eq!(
        Value::Map(compiler.usage(&matches)),
        yaml("{base: {used: [a], unused: [b, top], count_all: 3, count_used: 1, count_unused: 2}}")
    );
}
