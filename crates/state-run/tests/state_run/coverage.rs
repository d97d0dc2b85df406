//! `docs/coverage.md`: our functions beside Salt's, and which of the functions that
//! public trees use exist here. Run with `HALITE_UPDATE_COVERAGE=1` to write it.
//!
//! `coverage/salt-3008.5.tsv` is made by `coverage/extract.py`; `coverage/uses.tsv`
//! holds counts of uses in 232 public trees.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use halite_call::{Function, Registry};

const SALT: &str = include_str!("../coverage/salt-3008.5.tsv");
const USES: &str = include_str!("../coverage/uses.tsv");

/// Arguments that belong to the state run, whatever the function.
const RUN_ARGUMENTS: &[&str] = &[
    "aggregate",
    "check_cmd",
    "cmd_opts_exclude",
    "creates",
    "failhard",
    "fire_event",
    "listen",
    "listen_in",
    "name",
    "names",
    "no_log",
    "onchanges",
    "onchanges_any",
    "onchanges_in",
    "onfail",
    "onfail_all",
    "onfail_any",
    "onfail_in",
    "onfail_stop",
    "onlyif",
    "order",
    "parallel",
    "prereq",
    "prereq_in",
    "reload_grains",
    "reload_modules",
    "reload_pillar",
    "require",
    "require_any",
    "require_in",
    "retry",
    "runas",
    "saltenv",
    "state",
    "test",
    "timeout",
    "umask",
    "unless",
    "use",
    "use_in",
    "watch",
    "watch_any",
    "watch_in",
];

struct Use {
    function: &'static str,
    count: u64,
    in_salt: bool,
}

fn uses(kind: &str) -> Vec<Use> {
    USES.lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            (fields.next() == Some(kind)).then(|| Use {
                function: fields.next().unwrap(),
                count: fields.next().unwrap().parse().unwrap(),
                in_salt: fields.next() == Some("yes"),
            })
        })
        .collect()
}

/// Percent of the uses whose function `has` knows: of all, and of those whose
/// function is part of Salt 3008.5.
fn shares(uses: &[Use], has: impl Fn(&str) -> bool) -> (f64, f64) {
    let sum = |count: &dyn Fn(&&Use) -> bool| -> f64 {
        uses.iter().filter(count).map(|u| u.count as f64).sum()
    };
    let ours = sum(&|u| has(u.function));
    let ours_in_salt = sum(&|u| u.in_salt && has(u.function));
    (
        100.0 * ours / sum(&|_| true),
        100.0 * ours_in_salt / sum(&|u| u.in_salt),
    )
}

/// The arguments in use that a function of ours does not take.
fn missing_arguments(function: &Function, used: &BTreeMap<&str, Vec<&str>>) -> Vec<String> {
    let signature = function.parse_signature().unwrap();
    let empty = Vec::new();
    used.get(function.name)
        .unwrap_or(&empty)
        .iter()
        .filter(|argument| !RUN_ARGUMENTS.contains(argument))
        .filter(|argument| !signature.takes_keyword(argument))
        .map(|argument| format!("`{argument}`"))
        .collect()
}

fn page(registry: &Registry) -> String {
    let mut page = String::from(
        "# Coverage\n\n\
         Generated: `HALITE_UPDATE_COVERAGE=1 cargo test -p halite-state-run --test state_run coverage`. \
         *Uses* are counted in 232 public trees (states, pillars, formulas). Salt's modules are those of 3008.5, \
         without those for other systems and rarely used ones. The tier `core` holds the modules that public trees use most, `should` further common ones.\n\n\
         ## Share of public uses\n\n\
         | what | of all uses | of the uses of functions that 3008.5 has |\n| --- | --- | --- |\n",
    );
    let is_state = |fun: &str| registry.state(fun).is_some();
    let is_function = |fun: &str| registry.get(fun).is_some();
    let states = uses("state");
    for (what, (all, in_salt)) in [
        ("state functions", shares(&states, is_state)),
        (
            "functions called in Jinja",
            shares(&uses("jinja"), is_function),
        ),
        (
            "functions of `module.run`",
            shares(&uses("module.run"), is_function),
        ),
    ] {
        writeln!(page, "| {what} | {all:.1} % | {in_salt:.1} % |").unwrap();
    }

    let mut used_arguments: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in uses("argument") {
        if entry.count > 1
            && let Some((function, argument)) = entry.function.split_once(' ')
        {
            used_arguments.entry(function).or_default().push(argument);
        }
    }
    page.push_str(
        "\n## State functions by use\n\nState functions with at least ten uses. An argument counts as used when two places use it.\n\n\
         | function | uses | here | arguments in use that it does not take |\n| --- | --- | --- | --- |\n",
    );
    for entry in states.iter().filter(|entry| entry.count >= 10) {
        let (here, missing) = match registry.state(entry.function) {
            Some(function) => (
                "yes",
                missing_arguments(function, &used_arguments).join(" "),
            ),
            None if entry.in_salt => ("no", String::new()),
            None => ("no (not in 3008.5 either)", String::new()),
        };
        writeln!(
            page,
            "| `{}` | {} | {here} | {missing} |",
            entry.function, entry.count
        )
        .unwrap();
    }

    for (kind, title) in [
        ("state", "State modules"),
        ("execution", "Execution modules"),
    ] {
        module_table(&mut page, registry, kind, title);
    }
    page.push_str(include_str!("../coverage/absent.md"));
    page.push_str(include_str!("../coverage/formulas.md"));
    page
}

fn module_table(page: &mut String, registry: &Registry, kind: &str, title: &str) {
    let mut salt: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for line in SALT.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields[0] == kind {
            salt.entry((fields[1], fields[2]))
                .or_default()
                .insert(fields[3]);
        }
    }
    let ours = |name: &str| match kind {
        "state" => registry.state_module(name),
        _ => registry.module(name),
    };
    writeln!(
        page,
        "\n## {title}\n\n| module | tier | ours | Salt's | missing here | only here |\n| --- | --- | --- | --- | --- | --- |"
    )
    .unwrap();
    let list = |names: Vec<&str>| -> String {
        let shown: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        shown.join(" ")
    };
    let mut absent = Vec::new();
    for ((tier, module), theirs) in &salt {
        let Some(found) = ours(module) else {
            absent.push(format!("`{module}` ({tier}, {})", theirs.len()));
            continue;
        };
        let have: BTreeSet<&str> = found.functions.iter().map(Function::short_name).collect();
        let both = have.intersection(theirs).count();
        writeln!(
            page,
            "| `{module}` | {tier} | {both} | {} | {} | {} |",
            theirs.len(),
            list(theirs.difference(&have).copied().collect()),
            list(have.difference(theirs).copied().collect()),
        )
        .unwrap();
    }
    writeln!(page, "\nNot here (tier, functions): {}.", absent.join(", ")).unwrap();
}

#[test]
fn the_page_is_true() {
    let page = page(halite_state_run::registry());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coverage.md");
    if std::env::var_os("HALITE_UPDATE_COVERAGE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/coverage.md is out of date: HALITE_UPDATE_COVERAGE=1 cargo test -p halite-state-run --test state_run coverage"
    );
}
