//! The graph of a tree is what Salt 3008.5 draws of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::memory_tree::Tree;
use halite_state::{Compiler, high};

fn drawn(text: &str) -> String {
    let tree = Tree::new(&[("s.sls", text)]);
    let (high, mistakes) = tree.render(&["s"]);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    Compiler::new(&tree).with_low_options(|options| high::graph(high, options))
}

#[test]
fn requisites_and_trials_are_edges_and_nodes() {
    let text = "
a: test.nop
b:
  test.succeed_with_changes:
    - require: [{test: a}]
    - onchanges: [a]
c:
  test.nop:
    - name: other
    - prereq: [b]
";
    let expected = r#"digraph G {
  "test_|-a_|-a_|-nop" [label="test.nop\na"];
  "test_|-b_|-b_|-succeed_with_changes" [label="test.succeed_with_changes\nb"];
  "test_|-c_|-other_|-nop" [label="test.nop\nc\n(other)"];
  "test_|-b_|-b_|-succeed_with_changes_|-__prereq_test__" [label="test.succeed_with_changes\nb"];
  "test_|-a_|-a_|-nop" -> "test_|-b_|-b_|-succeed_with_changes" [label="require"];
  "test_|-a_|-a_|-nop" -> "test_|-b_|-b_|-succeed_with_changes" [label="onchanges"];
  "test_|-a_|-a_|-nop" -> "test_|-b_|-b_|-succeed_with_changes_|-__prereq_test__" [label="require"];
  "test_|-a_|-a_|-nop" -> "test_|-b_|-b_|-succeed_with_changes_|-__prereq_test__" [label="onchanges"];
  "test_|-c_|-other_|-nop" -> "test_|-b_|-b_|-succeed_with_changes" [label="require"];
  "test_|-b_|-b_|-succeed_with_changes_|-__prereq_test__" -> "test_|-c_|-other_|-nop" [label="prereq"];
}"#;
    assert_eq!(drawn(text), expected);
}

#[test]
fn what_makes_no_sense_is_left_out() {
    let lost = "a: {test.nop: [require: [test: z]]}\nb: test.nop\n";
    assert_eq!(
        drawn(lost),
        "digraph G {\n  \"test_|-a_|-a_|-nop\" [label=\"test.nop\\na\"];\n  \"test_|-b_|-b_|-nop\" [label=\"test.nop\\nb\"];\n}"
    );
    let circle = "a: {test.nop: [require: [b]]}\nb: {test.nop: [require: [a]]}\n";
    assert_eq!(drawn(circle).matches(" -> ").count(), 2);
    assert_eq!(drawn("{}"), "digraph G {\n}");
}
