//! Mistakes in states are reported with the line of the template, beside a return
//! with Salt's text.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::local_minion::LocalMinion;
use halite_call::{Job, Outcome, run_function};
use halite_proto::{Map, Value};

/// What a function says of the files, and the notes beside it.
fn called(files: &[(&str, &str)], fun: &str, args: &[&str]) -> (Outcome, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display();
    let config = format!(
        "id: here\nroot_dir: {root}\nfile_roots: {{base: [{root}/srv]}}\npillar_roots: {{base: [{root}/pillar]}}\nlog_level: quiet\n"
    );
    std::fs::create_dir_all(dir.path().join("srv")).unwrap();
    std::fs::write(dir.path().join("minion"), config).unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join("srv").join(name), text).unwrap();
    }
    let minion = LocalMinion::new(dir.path(), Map::from([("id", "here"), ("os", "Debian")]));
    let job = Job::published(Map::from([("jid", "20260101000000000000"), ("fun", fun)]));
    let args: Vec<Value> = args.iter().map(|arg| Value::from(*arg)).collect();
    let outcome = run_function(&minion.context, fun, &args, &job);
    (outcome, job.notes.take())
}

/// The file, line and column with which a note begins, and the line it shows.
fn place(note: &str) -> (String, String) {
    let mut lines = note.lines();
    let first = lines.next().unwrap_or_default();
    let place = first.split(": ").next().unwrap_or_default();
    let place = place.rsplit('/').next().unwrap_or_default();
    let shown = lines.next().unwrap_or_default().trim();
    (place.to_owned(), shown.to_owned())
}

#[test]
fn a_mistake_is_shown_where_the_template_has_it() {
    for (sls, text, at, line) in [
        (
            "declared",
            "{% set n = 'x' %}\n{{ n }}:\n  test.nop\nb: 5\n",
            "declared.sls:4:1",
            "b: 5",
        ),
        (
            "loops",
            "{% for i in [1, 2] %}\nb{{ i }}:\n  test.nop:\n    - require:\n      - test: a{{ i }}\n{% endfor %}\n",
            "loops.sls:5:15",
            "- test: a{{ i }}",
        ),
        (
            "yaml",
            "#!yaml\na:\n  test.nop: 5\n",
            "yaml.sls:3:3",
            "test.nop: 5",
        ),
        (
            "scanned",
            "a:\n  test.nop: x: y\n",
            "scanned.sls:2:14",
            "test.nop: x: y",
        ),
        ("tabs", "a:\n\ttest.nop\n", "tabs.sls:2:1", "test.nop"),
        (
            "jinja",
            "a:\n  test.nop:\n    - name: {{ nope }}\n",
            "jinja.sls:3:16",
            "- name: {{ nope }}",
        ),
        (
            "extends",
            "a: test.nop\nextend:\n  lost:\n    test:\n      - name: z\n",
            "extends.sls:3:3",
            "lost:",
        ),
        (
            "unknown",
            "a: test.nop\nb:\n  tset.nop:\n    - name: x\n",
            "unknown.sls:3:3",
            "tset.nop:",
        ),
        (
            "includes",
            "include:\n  - lost\na: test.nop\n",
            "includes.sls:2:5",
            "- lost",
        ),
    ] {
        let file = format!("{sls}.sls");
        let (outcome, notes) = called(&[(&file, text)], "state.apply", &[sls]);
        assert_ne!(outcome.retcode, 0, "{sls}");
        assert!(!notes.is_empty(), "{sls}: {:?}", outcome.ret);
        assert!(notes[0].starts_with("salt://"), "{notes:?}");
        assert_eq!(
            place(&notes[0]),
            (at.to_owned(), line.to_owned()),
            "{notes:?}"
        );
        // What scripts read has no places.
        if let Value::List(errors) = &outcome.ret {
            for error in errors.iter().filter_map(Value::as_str) {
                assert!(!error.contains(at), "{error}");
            }
        }
    }
}

#[test]
fn both_ends_of_a_conflict_and_each_step_of_a_cycle_are_shown() {
    let files = [
        ("a.sls", "include: [b]\nx:\n  test.nop\n"),
        ("b.sls", "\nx:\n  test.fail_without_changes\n"),
    ];
    let (_, notes) = called(&files, "state.show_sls", &["a"]);
    assert!(notes[0].contains("/b.sls:2:1"), "{notes:?}");
    assert!(notes[0].contains("/a.sls:2:1"), "{notes:?}");
    let cycle = "x:\n  test.nop:\n    - require:\n      - test: y\ny:\n  test.nop:\n    - require:\n      - test: x\n";
    let (_, notes) = called(&[("c.sls", cycle)], "state.apply", &["c"]);
    assert!(notes[0].contains("/c.sls:4:9"), "{notes:?}");
    assert!(notes[0].contains("/c.sls:8:9"), "{notes:?}");
}

#[test]
fn an_sls_that_fails_is_shown_with_who_includes_it() {
    let files = [("a.sls", "include:\n  - b\n"), ("b.sls", "x: [\n")];
    let (_, notes) = called(&files, "state.apply", &["a"]);
    let lines: Vec<&str> = notes[0].lines().collect();
    assert!(lines[0].contains("/b.sls:1:5"), "{notes:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.ends_with("/a.sls:2:5: included here")),
        "{notes:?}"
    );
}

#[test]
fn a_top_file_that_is_wrong_says_where() {
    let broken = "base:\n  '*':\n    - a\n   - b\n";
    let (outcome, _) = called(&[("top.sls", broken)], "state.apply", &[]);
    let (_, record) = outcome.ret.as_map().unwrap().iter().next().unwrap();
    let comment = record.get("comment").unwrap().as_str().unwrap();
    assert!(comment.starts_with("No Top file or master_tops data matches found."));
    assert!(comment.contains("/top.sls:4:4: "), "{comment}");
    let (outcome, notes) = called(
        &[("top.sls", "base:\n  '*':\n    - lost\n")],
        "state.apply",
        &[],
    );
    assert_eq!(
        outcome.ret,
        Value::List(vec![
            "No matching sls found for 'lost' in env 'base'".into()
        ])
    );
    assert_eq!(place(&notes[0]).0, "top.sls:3:7", "{notes:?}");
    let (_, notes) = called(
        &[("top.sls", "base:\n  '*': lost\n")],
        "state.show_top",
        &[],
    );
    assert_eq!(place(&notes[0]).0, "top.sls:2:3", "{notes:?}");
}

#[test]
fn a_text_of_no_file_has_lines_too() {
    for (text, at, line) in [
        (
            "{% set n = 'x' %}\n{{ n }}:\n  test.nop:\n    - require:\n      - test: missing\n",
            "<text>:5:15",
            "- test: missing",
        ),
        ("a: 5\n", "<text>:1:1", "a: 5"),
        ("a:\n  test.nop:\n", "<text>:2:3", "test.nop:"),
        ("include:\n  - b\n", "<text>:1:1", "include:"),
    ] {
        let (outcome, notes) = called(&[], "state.template_str", &[text]);
        assert!(!notes.is_empty(), "{text}: {:?}", outcome.ret);
        assert_eq!(
            place(&notes[0]),
            (at.to_owned(), line.to_owned()),
            "{notes:?}"
        );
    }
}

#[test]
fn a_large_sls_has_lines_too() {
    let mut text = "a:\n  test.nop:\n    - require:\n      - test: missing\n".to_owned();
    // More than was once kept for this.
    while text.len() <= 4 << 20 {
        text.push_str("# nothing but a comment, again and again, so that this gets long\n");
    }
    let (_, notes) = called(&[("large.sls", &text)], "state.apply", &["large"]);
    assert_eq!(place(&notes[0]).0, "large.sls:4:15", "{notes:?}");
}
