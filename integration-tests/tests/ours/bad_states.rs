//! States that cannot be compiled: the return has Salt's text, `salt` shows the
//! line on its standard error, and the minion goes on.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind};

/// An SLS, what the return says of it, and the place that is shown.
const CASES: &[(&str, &str, &str, &str)] = &[
    (
        "declared",
        "a: test.nop\nb: 5\n",
        "ID b in SLS declared is not a dictionary",
        "declared.sls:2:1: ",
    ),
    (
        "tabs",
        "a:\n\ttest.nop\n",
        "Rendering SLS 'base:tabs' failed: found character that cannot start any token",
        "tabs.sls:2:1: ",
    ),
    (
        "lost",
        "a:\n  test.nop:\n    - require:\n      - test: z\n",
        "Referenced state does not exist for requisite [require: (test: z)] in state [a] in SLS [lost]",
        "lost.sls:4:15: ",
    ),
    (
        "endless",
        "{% set l = [1] %}{% for x in l %}{% do l.append(x) %}{% endfor %}\n",
        "Rendering SLS 'base:endless' failed: Jinja error: the template took more than",
        "endless.sls:1:40: ",
    ),
    (
        "itself",
        "{% import 'itself.sls' as i %}\n",
        "Rendering SLS 'base:itself' failed: Jinja error: maximum recursion depth exceeded",
        "itself.sls:1:4: ",
    ),
    (
        "bomb",
        "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\ng: &g [*f, *f, *f, *f, *f, *f, *f, *f]\n",
        "Rendering SLS 'base:bomb' failed: ",
        "bomb.sls:1:",
    ),
    (
        "deep",
        "{% from 'three.jinja' import a %}\nx: {test.nop: [name: {{ a() }}]}\n",
        "Rendering SLS 'base:deep' failed: Jinja variable 'nope' is undefined",
        "three.jinja:1:23: ",
    ),
];

const THREE: &str = "{% macro c() %}{{ 1 ~ nope }}{% endmacro %}\n{% macro b() %}{{ c() }}{% endmacro %}\n{% macro a() %}{{ b() }}{% endmacro %}\n";

#[test]
fn the_line_is_shown_beside_salts_words_and_the_minion_goes_on() -> Result<()> {
    let fleet = Fleet::new("bad-states")?;
    let large = format!("a: '{}'\n", "x".repeat(17 << 20));
    let plan = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("three.jinja", THREE)
        .file("large.sls", &large);
    let master = CASES
        .iter()
        .fold(plan, |plan, (name, text, _, _)| {
            plan.file(&format!("{name}.sls"), text)
        })
        .start()?;
    let _minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    for (name, _, says, place) in CASES {
        let done = master.salt(&["web1", "state.apply", name, "--out=json"])?;
        ensure!(done.code != 0, "{name} succeeded");
        let errors = done.by_minion()?["web1"].clone();
        let first = errors[0].as_str().context("no error")?;
        ensure!(first.starts_with(says), "{name}: {first}");
        ensure!(
            done.stderr.contains(&format!("/{place}")),
            "{name} shows no {place}: {}",
            done.stderr
        );
    }
    let done = master.salt(&["web1", "state.apply", "large", "--out=json"])?;
    ensure!(done.stdout.contains("has more than"), "{}", done.stdout);
    master.check_ping(&["web1"])
}
