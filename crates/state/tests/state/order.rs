//! Chunks and their order: numbers, names, requisites of every form, cycles.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::memory_tree::Tree;
use halite_state::Mistake;
use halite_state::{Requisite, Settings, Turn};

fn tree(text: &str) -> Tree {
    Tree::new(&[("s.sls", text)])
}

fn order(text: &str) -> Vec<String> {
    tree(text).order(&["s"])
}

fn errors(text: &str) -> Vec<String> {
    let mistakes = tree(text).low(&["s"]).unwrap_err();
    mistakes.into_iter().map(Mistake::into_text).collect()
}

#[test]
fn as_written_unless_numbered() {
    let text = "
        z: test.nop
        last: {test.nop: [{order: last}]}
        a: test.nop
        end: {test.nop: [{order: -1}]}
        first: {test.nop: [{order: first}]}
        five: {test.nop: [{order: 5}]}
        odd: {test.nop: [{order: nonsense}]}";
    assert_eq!(
        order(text),
        ["first", "five", "z", "a", "odd", "end", "last"]
    );
}

#[test]
fn without_numbers_names_decide() {
    let mut tree = tree("b: test.nop\na: test.nop\nc: {test.nop: [{require: [{test: b}]}]}");
    tree.settings = Settings {
        state_auto_order: false,
        ..Settings::default()
    };
    assert_eq!(tree.order(&["s"]), ["a", "b", "c"]);
}

#[test]
fn a_dependency_runs_just_before_its_first_dependent() {
    let text = "
        a: {test.nop: [{require: [{test: d}]}]}
        b: test.nop
        c: {test.nop: [{require: [{test: b}]}]}
        d: test.nop";
    assert_eq!(order(text), ["d", "a", "b", "c"]);
}

#[test]
fn references_mean_ids_names_globs_and_sls() {
    let tree = Tree::new(&[
        (
            "s.sls",
            "
            include: [inc.one]
            by_name: {test.nop: [{require: [{test: other name}]}]}
            named: {test.nop: [{name: other name}]}
            globbed: {test.nop: [{require: [{test: 'g*d2'}, {sls: 'inc.*'}]}]}
            gxd2: test.nop
            bare: {test.nop: [{require: [file]}]}
            file: {cmd.run: []}",
        ),
        ("inc/one.sls", "included: {test.nop: [{order: last}]}"),
    ]);
    assert_eq!(
        tree.order(&["s"]),
        [
            "named/other name",
            "by_name",
            "gxd2",
            "included",
            "globbed",
            "file",
            "bare"
        ]
    );
}

#[test]
fn names_make_chunks_of_their_own() {
    let text = "
        many:
          test.nop:
            - names: [b, a, b, c: [{order: 1}, {x: 2}]]
            - x: 1";
    let low = tree(text).low(&["s"]).unwrap();
    let shown: Vec<_> = low
        .order
        .iter()
        .map(|turn| {
            let chunk = low.chunk(*turn).unwrap();
            format!(
                "{} {} {:?}",
                chunk.name_text(),
                halite_proto::python::str(chunk.order()),
                chunk.get("x").and_then(halite_proto::Value::as_int)
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "c 1.0003 Some(2)",
            "b 10000.0001 Some(1)",
            "a 10000.0002 Some(1)"
        ]
    );
}

#[test]
fn a_prereq_is_tried_first() {
    let text = "
        before: {test.nop: [{prereq: [{test: thing}]}]}
        needed: test.nop
        thing: {test.nop: [{require: [{test: needed}]}]}";
    let low = tree(text).low(&["s"]).unwrap();
    assert_eq!(order(text), ["needed", "thing?", "before", "thing"]);
    let trial = Turn {
        chunk: 2,
        trial: true,
    };
    let on: Vec<_> = low.graph.dependencies(trial);
    assert_eq!(on.len(), 1);
    assert_eq!(on[0].requisite, Requisite::Require);
    assert!(low.chunks[2].has("__prereq__") && low.chunks[0].has("__prerequiring__"));
}

#[test]
fn what_cannot_watch_requires() {
    let low = tree(
        "a: test.nop\nb: {cmd.run: [{watch: [{test: a}]}]}\nc: {test.nop: [{watch: [{test: a}]}]}",
    )
    .low(&["s"])
    .unwrap();
    assert!(low.chunks[1].has("require") && !low.chunks[1].has("watch"));
    assert!(low.chunks[2].has("watch"));
}

#[test]
fn in_forms_reach_their_targets() {
    let text = "
        t: {test.nop: [{comment: 1}]}
        n: {test.nop: [{name: by name}]}
        first:
          test.nop:
            - require_in: [{test: t}, by name]
            - watch_in: {test: t}
        user: {test.nop: [{use: [{test: t}]}]}";
    let low = tree(text).low(&["s"]).unwrap();
    let chunk = |id: &str| low.chunks.iter().find(|chunk| chunk.id() == id).unwrap();
    // The first target of a list is resolved once more for each one after it.
    assert_eq!(
        chunk("t").get("require"),
        Some(&crate::memory_tree::yaml("[{test: first}, {test: first}]"))
    );
    assert_eq!(
        chunk("t").get("watch"),
        Some(&crate::memory_tree::yaml("[{test: first}]"))
    );
    assert_eq!(
        chunk("n").get("require"),
        Some(&crate::memory_tree::yaml("[{test: first}]"))
    );
    assert_eq!(
        chunk("user").get("comment"),
        Some(&crate::memory_tree::yaml("1"))
    );
    assert!(!chunk("user").has("require"));
}

#[test]
fn extensions_replace_join_and_add() {
    let text = "
        extend:
          a: {test: [ping, {x: 2}, {require: [{test: c}]}, {new: 1}]}
          named: {test: [{y: 1}]}
        a: {test.nop: [{x: 1}, {require: [{test: b}]}]}
        b: {test.nop: [{name: named}]}
        c: test.nop";
    let low = tree(text).low(&["s"]).unwrap();
    let a = low.chunks.iter().find(|chunk| chunk.id() == "a").unwrap();
    assert_eq!(a.fun(), "ping");
    assert_eq!(a.get("x"), Some(&crate::memory_tree::yaml("2")));
    assert_eq!(a.get("new"), Some(&crate::memory_tree::yaml("1")));
    assert_eq!(
        a.get("require"),
        Some(&crate::memory_tree::yaml("[{test: b}, {test: c}]"))
    );
    assert_eq!(low.chunks[1].get("y"), Some(&crate::memory_tree::yaml("1")));
    assert_eq!(
        errors("extend: {gone: {test: [{x: 1}]}}\na: test.nop"),
        [
            "Cannot extend ID 'gone' in 'base:s'. It is not part of the high state.\nThis is likely due to a missing include statement or an incorrectly typed ID.\nEnsure that a state with an ID of 'gone' is available\nin environment 'base' and to SLS 's'"
        ]
    );
}

#[test]
fn what_is_excluded_is_gone() {
    let tree = Tree::new(&[
        (
            "s.sls",
            "include: [x.one, y]\nexclude: [{sls: 'x.*'}, {id: gone}]\ngone: test.nop\nkept: test.nop",
        ),
        ("x/one.sls", "one: test.nop"),
        ("y.sls", "exclude: [nothing]\ny: test.nop"),
    ]);
    assert_eq!(tree.order(&["s"]), ["y", "kept"]);
}

#[test]
fn a_missing_target_is_told_with_its_place() {
    assert_eq!(
        errors(
            "a: {test.nop: [{require: [{test: gone}]}]}\nb: {test.nop: [{onchanges: [{sls: gone}]}]}"
        ),
        [
            "Referenced state does not exist for requisite [require: (test: gone)] in state [a] in SLS [s]",
            "Referenced state does not exist for requisite [onchanges: (sls: gone)] in state [b] in SLS [s]"
        ]
    );
    assert_eq!(
        errors("a: {test.nop: [{require: [{test: 5}]}]}"),
        ["Requisite [require: test] in state [a] in SLS [s] must have a string as the value"]
    );
    // A pattern of SLS may mean none.
    assert_eq!(order("a: {test.nop: [{require: [{sls: 'no*'}]}]}"), ["a"]);
}

#[test]
fn a_cycle_is_told_with_its_path() {
    let text = "
        outside: test.nop
        a: {test.nop: [{require: [{test: b}]}]}
        b: {test.nop: [{name: bb}, {watch: [{test: c}]}]}
        c: {test.nop: [{require: [{test: a}, {test: outside}]}]}";
    let error = errors(text).remove(0);
    for edge in ["'ID': 'a'}, 'require', {'SLS': 's', 'ID': 'b'", "'watch'"] {
        assert!(error.contains(edge), "{error}");
    }
}

#[test]
fn a_state_that_also_means_itself_runs_with_a_warning() {
    let text = "
        one: {test.nop: [{name: shared}]}
        other: {test.nop: [{name: shared}, {require: [{test: shared}]}]}";
    let low = tree(text).low(&["s"]).unwrap();
    assert_eq!(low.warnings.len(), 1, "{:?}", low.warnings);
    assert_eq!(order(text), ["one/shared", "other/shared"]);
    // One that means nothing but itself is a cycle.
    assert_eq!(
        errors("a: {test.nop: [{require: [{test: a}]}]}"),
        [
            "Recursive requisites were found: ({'SLS': 's', 'ID': 'a'}, 'require', {'SLS': 's', 'ID': 'a'})"
        ]
    );
}

#[test]
fn an_sls_that_includes_its_dependent_does_not_mean_it() {
    let tree = Tree::new(&[
        (
            "config.sls",
            "include: [service]\nconf: {test.nop: [{require_in: [{test: run}]}]}",
        ),
        (
            "service.sls",
            "
            run: {test.nop: [{watch: [{sls: config}]}]}
            help: {cmd.run: [{onfail: [{test: run}]}]}",
        ),
    ]);
    assert_eq!(tree.order(&["config"]), ["conf", "run", "help"]);
}

#[test]
fn disabled_states_and_requisites() {
    let mut tree = tree(
        "a: {test.nop: [{require: [{test: gone}]}]}\nb: cmd.run\nc: {test.nop: [{require_in: [{test: a}]}]}",
    );
    tree.settings.disabled_states = vec!["cmd.*".into()];
    tree.settings.disabled_requisites = vec!["require".into()];
    assert_eq!(tree.order(&["s"]), ["a", "c"]);
    let low = tree.low(&["s"]).unwrap();
    let comment = low
        .disabled
        .get("cmd_|-b_|-b_|-run")
        .and_then(|result| result.get("comment"));
    assert_eq!(
        comment.and_then(halite_proto::Value::as_str),
        Some(
            "The state function \"cmd.run\" is currently disabled by \"cmd.*\", to re-enable, run state.enable cmd.*."
        )
    );
}

#[test]
fn groups_never_join_what_depends() {
    let mut tree = tree(
        "
        a: {test.nop: [{aggregate: true}]}
        b: {test.nop: [{aggregate: true}]}
        c: {test.nop: [{aggregate: true}, {require: [{cmd: x}]}]}
        x: {cmd.run: [{require: [{test: a}]}]}
        d: {test.nop: [{aggregate: true}]}
        n: test.nop",
    );
    tree.watching.push("test.mod_aggregate");
    let low = tree.low(&["s"]).unwrap();
    let group = |id: &str| {
        let chunk = low
            .chunks
            .iter()
            .position(|chunk| chunk.id() == id)
            .unwrap();
        let ids = low
            .graph
            .group(chunk)
            .iter()
            .map(|other| low.chunks[*other].id());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(group("a"), ["a", "b", "d"]);
    assert_eq!(group("c"), Vec::<&str>::new());
    assert_eq!(group("n"), Vec::<&str>::new());
}
