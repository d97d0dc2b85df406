//! A mistake names the item it is about, so that its place can be found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::memory_tree::Tree;
use halite_state::{About, Compiler, Mistake, compile::verify_tops};

/// The SLS and the path of each part, as text.
fn parts(mistake: &Mistake) -> Vec<String> {
    let text = |about: &About| {
        let sls = about.sls.as_deref().unwrap_or("top");
        let path: Vec<String> = about.path.iter().map(halite_proto::python::str).collect();
        format!("{sls}: {}", path.join(" / "))
    };
    mistake.parts().iter().map(text).collect()
}

/// The first mistake of the SLS `a`, and what it is about.
fn first(a: &str) -> (String, Vec<String>) {
    let tree = Tree::new(&[("a.sls", a), ("b.sls", "x:\n  test.nop\n")]);
    let (high, mistakes) = tree.render(&["a"]);
    let mut mistakes = if mistakes.is_empty() {
        Compiler::new(&tree).low(high).unwrap_err()
    } else {
        mistakes
    };
    let mistake = mistakes.remove(0);
    (mistake.text().to_owned(), parts(&mistake))
}

#[test]
fn shapes_are_told_with_their_part() {
    for (sls, starts, about) in [
        ("x: 5", "ID x in SLS a is not a dictionary", "a: x"),
        ("[1]", "SLS a does not render to a dictionary", "a: "),
        ("include: b", "Include Declaration in SLS a", "a: include"),
        ("include: [c]", "Specified SLS c", "a: include / c"),
        (
            "include: [....c]",
            "Attempted relative",
            "a: include / ....c",
        ),
        ("extend: [x]", "Extension value in SLS 'a'", "a: extend"),
        ("exclude: x", "Exclude Declaration", "a: exclude"),
        (
            "x: {test.nop: [], test.fail: []}",
            "ID 'x' in SLS 'a' contains multiple",
            "a: x / test.fail",
        ),
        (
            "x: {test.nop: }",
            "ID 'x' in SLS 'a' contains a short",
            "a: x / test.nop",
        ),
        (
            "x: {test.nop: 5}",
            "State 'x' in SLS 'a' is not formed",
            "a: x / test.nop",
        ),
        (
            "x: {test.nop: [name y]}",
            "The function \"name y\"",
            "a: x / test / name y",
        ),
        (
            "x: {test.nop: [require: y]}",
            "The require statement",
            "a: x / test / require",
        ),
        (
            "x: {test.nop: [require: [test.nop: y]]}",
            "Invalid requisite type",
            "a: x / test / require / test.nop / y",
        ),
        (
            "x: {test.nop: [require: [test: y]]}",
            "Referenced state does not exist",
            "a: x / test / require / test / y",
        ),
        (
            "extend: {y: {test: [name: z]}}",
            "Cannot extend ID 'y'",
            "a: extend / y",
        ),
    ] {
        let (text, parts) = first(sls);
        assert!(text.starts_with(starts), "{sls}: {text}");
        assert_eq!(parts, [about], "{sls}");
    }
}

#[test]
fn an_id_of_two_sls_is_told_in_both() {
    let (text, parts) = first("include: [b]\nx:\n  test.fail_without_changes\n");
    assert!(text.starts_with("Detected conflicting IDs"), "{text}");
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert!(parts.iter().all(|part| part.ends_with(": x")), "{parts:?}");
}

#[test]
fn a_cycle_is_told_edge_by_edge() {
    let (text, parts) = first(
        "x: {test.nop: [require: [test: y]]}\ny: {test.nop: [require: [test: z]]}\nz: {test.nop: [watch: [test: x]]}",
    );
    assert!(
        text.starts_with("Recursive requisites were found"),
        "{text}"
    );
    let mut parts = parts;
    parts.sort();
    assert_eq!(parts.len(), 3, "{parts:?}");
    assert!(parts[0].starts_with("a: x / test / require"), "{parts:?}");
}

#[test]
fn what_the_top_file_names_in_vain_is_told_there() {
    let tree = Tree::new(&[("top.sls", "base: {'*': [nope], 'm*': x}")]);
    let compiler = Compiler::new(&tree);
    let top = compiler.top().unwrap();
    let malformed = verify_tops(&top);
    assert_eq!(parts(&malformed[0]), ["top: base / m*"]);
    let (_, missing) = compiler.render(&compiler.matches(&top));
    assert!(
        missing
            .iter()
            .any(|error| parts(error) == ["top: base / nope"]),
        "{missing:?}"
    );
}
