//! Every runner and wheel function, called by everybody without the right to it.

use anyhow::{Result, ensure};

use crate::callers::ask;
use crate::doors::{Caller, LITTLE, Outcome, Row};
use crate::stage::Stage;

/// All runners, a line each; a test of the master keeps the list complete.
const RUNNERS: &str = include_str!("../../../crates/core-modules/src/sys/runners.tsv");

/// The wheel functions of Salt.
const WHEEL: &str = include_str!("../../../crates/master/tests/data/salt-wheel.txt");

/// The one that [`Caller::Granted`] may run.
const GRANTED_RUNNER: &str = "test.arg";

fn names(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines()
        .filter_map(|line| line.split('\t').next())
        .filter(|name| !name.is_empty())
}

/// The cells of the callers that are asked here.
fn row(cmd: &'static str, name: &str, arguments: &str) -> Row {
    let fields = format!(r#"{{"fun": "{name}", {arguments}}}"#);
    Row {
        cmd,
        // A test may keep what it asks for as long as it runs.
        fields: fields.leak(),
        cells: [Outcome::Nothing; 7],
        cost: LITTLE,
    }
}

#[test]
fn no_runner_and_no_wheel_function_is_for_who_has_no_right_to_it() -> Result<()> {
    let mut stage = Stage::start()?;
    stage.heard()?;
    let before = stage.files()?;
    let mut wrong = Vec::new();
    let mut asked = 0;
    let mut check = |stage: &Stage, caller, row: &Row, is_sealed, expect| -> Result<()> {
        asked += 1;
        let told = ask(stage, caller, row, is_sealed)?;
        if told.outcome != expect {
            wrong.push(format!("{caller:?} {}: {:?}", row.fields, told.outcome));
        }
        Ok(())
    };
    for (cmd, list) in [("runner", RUNNERS), ("wheel", WHEEL)] {
        for name in names(list) {
            let row = row(cmd, name, r#""kwarg": {}"#);
            for caller in [Caller::Stranger, Caller::Local, Caller::Limited] {
                check(&stage, caller, &row, false, Outcome::Unproven)?;
            }
        }
    }
    for name in names(RUNNERS).filter(|name| *name != GRANTED_RUNNER) {
        let row = row("minion_runner", name, r#""arg": []"#);
        for caller in [Caller::Accepted, Caller::Granted] {
            check(&stage, caller, &row, true, Outcome::Nothing)?;
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(asked > 400, "only {asked} were asked");
    let heard = stage.heard()?;
    ensure!(heard.is_empty(), "something was run: {heard:?}");
    ensure!(stage.files()? == before, "something was written");
    Ok(())
}
