//! State runs between a master and a minion of any two kinds.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::kind::Kind;
use crate::master::Master;
use crate::wait::{START, until};

/// The states of a case.
const FILES: &[(&str, &str)] = &[
    ("top.sls", "base:\n  '*': [tree]\n"),
    (
        "tree/init.sls",
        "include: [.more]\n\
         changed on {{ grains['id'] }}:\n  test.succeed_with_changes: []\n\
         follows:\n  cmd.wait:\n    - name: echo {{ pillar.get('word', 'none') }}\n    - watch: [{test: changed on web1}]\n\
         runs:\n  cmd.run:\n    - name: echo ran\n    - unless: 'true'\n",
    ),
    (
        "tree/more.sls",
        "more:\n  test.nop:\n    - listen: [{test: changed on web1}]\n",
    ),
    (
        "bad.sls",
        "fails:\n  test.fail_without_changes: []\n\
         needs it:\n  test.nop:\n    - require: [{test: fails}]\n\
         goes on:\n  test.nop:\n    - onfail: [{test: fails}]\n",
    ),
    ("broken.sls", "x: {{ nothing.here }}\n"),
    (
        "slow.sls",
        "slow:\n  cmd.run:\n    - name: echo $$ > {{ pillar['mark'] }}; exec sleep 300\n",
    ),
];

fn returned(master: &Master, args: &[&str]) -> Result<Value> {
    let mut all = vec!["web1"];
    all.extend(args);
    let mut returns = master.returns(&all)?;
    returns
        .remove("web1")
        .with_context(|| format!("web1 did not return from {args:?}"))
}

/// The records of a run in the order of their numbers.
fn records(run: &Value) -> Result<Vec<&Value>> {
    let run = run
        .as_object()
        .with_context(|| format!("no results in {run}"))?;
    let mut records: Vec<&Value> = run.values().collect();
    records.sort_by_key(|record| record["__run_num__"].as_i64());
    Ok(records)
}

/// The ids, results and whether something changed, in the order of the run.
fn outline(run: &Value) -> Result<Vec<(String, Value, bool)>> {
    let outline = records(run)?.into_iter().map(|record| {
        let id = record["__id__"].as_str().unwrap_or_default().to_owned();
        let changed = record["changes"] != json!({});
        (id, record["result"].clone(), changed)
    });
    Ok(outline.collect())
}

fn check(run: &Value, wanted: &[(&str, Value, bool)]) -> Result<()> {
    let found = outline(run)?;
    let same = found.len() == wanted.len()
        && found.iter().zip(wanted).all(|(found, wanted)| {
            found.0 == wanted.0 && found.1 == wanted.1 && found.2 == wanted.2
        });
    ensure!(same, "the run was {found:?}, not {wanted:?}: {run:#}");
    Ok(())
}

/// A tree of the top file is applied, tried and shown; failures are told with
/// the exit code, mistakes with a list.
pub fn states_are_applied(master: Kind, minion: Kind) -> Result<()> {
    let fleet = Fleet::new("states")?;
    let plan = fleet.master("m1", master).auto_accept();
    let plan = FILES
        .iter()
        .fold(plan, |plan, (path, text)| plan.file(path, text));
    let master = plan.start()?;
    let _minion = fleet.minion("web1", minion).of(&master).start()?;
    master.wait_minion("web1")?;

    let run = returned(&master, &["state.apply", "pillar={word: hello}"])?;
    let (yes, no) = (json!(true), json!(false));
    check(
        &run,
        &[
            ("more", yes.clone(), false),
            ("changed on web1", yes.clone(), true),
            ("follows", yes.clone(), true),
            ("runs", yes.clone(), false),
            ("listener_more", yes.clone(), true),
        ],
    )?;
    let follows = &run["cmd_|-follows_|-echo hello_|-wait"];
    ensure!(
        follows["changes"]["stdout"] == json!("hello"),
        "the pillar did not reach the state: {follows:#}"
    );
    let tried = returned(&master, &["state.apply", "test=True"])?;
    ensure!(
        records(&tried)?[1]["result"].is_null(),
        "test mode did something: {tried:#}"
    );

    let bad = master.salt(&["web1", "state.sls", "bad", "--out=json"])?;
    let bad = bad.exit(1)?.json()?;
    check(
        &bad["web1"],
        &[
            ("fails", no.clone(), false),
            ("needs it", no, false),
            ("goes on", yes, false),
        ],
    )?;
    let text = master.salt(&["web1", "state.apply"])?.ok()?.stdout;
    for wanted in ["web1:\n----------\n", "Summary for web1\n", "(changed="] {
        ensure!(text.contains(wanted), "no {wanted:?} in {text}");
    }
    let mistakes = [
        ("nosuch", "No matching sls found for 'nosuch' in env 'base'"),
        ("broken", "Jinja variable 'nothing' is undefined"),
    ];
    for (sls, words) in mistakes {
        let output = master.salt(&["web1", "state.apply", sls, "--out=json"])?;
        let errors = output.exit(1)?.json()?;
        let said = errors["web1"][0].as_str().unwrap_or_default();
        ensure!(said.contains(words), "state.apply {sls} says {errors}");
    }
    Ok(())
}

/// While a run goes on another one is refused; a killed run leaves no process
/// behind, and the next one is served.
pub fn one_run_at_a_time(master: Kind, minion: Kind) -> Result<()> {
    let fleet = Fleet::new("turns")?;
    let mark = fleet.path().join("mark");
    let plan = fleet.master("m1", master).auto_accept();
    let plan = FILES
        .iter()
        .fold(plan, |plan, (path, text)| plan.file(path, text));
    let master = plan.start()?;
    let _minion = fleet.minion("web1", minion).of(&master).start()?;
    master.wait_minion("web1")?;

    let pillar = format!("pillar={{mark: {}}}", mark.display());
    master
        .salt(&["--async", "web1", "state.apply", "slow", &pillar])?
        .ok()?;
    let child = until("the slow state", START, || {
        let text = fs::read_to_string(&mark).unwrap_or_default();
        Ok(text.trim().parse::<i32>().ok())
    })?;

    let refused = master.salt(&["web1", "state.apply", "--out=json"])?;
    let refused = refused.exit(1)?.json()?;
    let said = refused["web1"][0].as_str().unwrap_or_default();
    ensure!(
        said.starts_with("The function \"state.apply\" is running as PID "),
        "a second run got {refused}"
    );
    let jid = said.rsplit(' ').next().unwrap_or_default();
    returned(&master, &["saltutil.kill_job", jid])?;
    until("the end of the slow state", START, || {
        let alive = fs::exists(format!("/proc/{child}"))?;
        Ok((!alive).then_some(()))
    })?;
    until("the turn of the next run", START, || {
        // Until then it is refused, and that is a failure.
        let run = master.salt(&["web1", "state.apply", "--out=json"])?;
        let is_run = run.code == 0 && run.of("web1").is_ok_and(|run| run.is_object());
        Ok(is_run.then_some(()))
    })
}
