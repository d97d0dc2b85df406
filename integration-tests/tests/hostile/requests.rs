//! All cells of the table of requests.

use anyhow::{Context, Result, ensure};
use halite_proto::clear::ClearCommand;
use halite_proto::request::MinionRequest;
use halite_proto::{Map, Value, json};

use crate::callers::ask;
use crate::doors::{CLEAR, Caller, Outcome, Row, SEALED, clear_rows, sealed_rows};
use crate::stage::{Stage, check_served};

/// The fields of a row as the product reads them.
fn load(row: &Row) -> Map {
    let Ok(Value::Map(mut load)) = json::read(row.fields) else {
        panic!("{}", row.fields);
    };
    load.insert("cmd", row.cmd);
    load
}

/// A row that asks for something else than its command would prove nothing.
#[test]
fn every_row_is_of_the_command_that_it_stands_under() {
    for rows in SEALED {
        for row in *rows {
            let command = MinionRequest::from_map(load(row));
            let command = command.unwrap_or_else(|error| panic!("{row:?}: {error}"));
            let of = sealed_rows(&command);
            assert!(of.iter().any(|of| of.fields == row.fields), "{row:?}");
        }
    }
    for rows in CLEAR {
        for row in *rows {
            let command = ClearCommand::from_map(load(row));
            let command = command.unwrap_or_else(|error| panic!("{row:?}: {error}"));
            let of = clear_rows(&command);
            assert!(of.iter().any(|of| of.fields == row.fields), "{row:?}");
        }
    }
}

#[test]
fn every_request_of_every_caller_comes_to_what_the_table_says() -> Result<()> {
    check_cells_of(&mut Stage::start()?, &Caller::ALL)
}

/// Checks all cells of some callers.
pub(crate) fn check_cells_of(stage: &mut Stage, callers: &[Caller]) -> Result<()> {
    check_served(stage)?;
    stage.heard()?;
    let mut wrong = Vec::new();
    let mut cells = 0;
    // Those first of which nothing may be heard: what others have done is told
    // while it goes on.
    for is_silent in [true, false] {
        for (row, is_sealed) in rows() {
            let all = Caller::ALL.into_iter().zip(row.cells);
            for (caller, expect) in all.filter(|(caller, _)| callers.contains(caller)) {
                if leaves_nothing(caller, expect) != is_silent {
                    continue;
                }
                cells += 1;
                if caller.is_minion() && !caller.is_unproven() {
                    stage.renew()?;
                }
                let said = check(stage, caller, row, (is_sealed, expect))?;
                wrong.extend(said.map(|said| {
                    let (cmd, fields) = (row.cmd, row.fields);
                    format!("{caller:?} asks {cmd} {fields}: {said}")
                }));
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} of {cells}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    check_served(stage)
}

/// All rows, and whether they are of minions.
pub(crate) fn rows() -> impl Iterator<Item = (&'static Row, bool)> {
    let sealed = SEALED.iter().copied().flatten().map(|row| (row, true));
    sealed.chain(CLEAR.iter().copied().flatten().map(|row| (row, false)))
}

/// Whether a request leaves nothing behind but what its row allows.
const fn leaves_nothing(caller: Caller, expect: Outcome) -> bool {
    caller.is_unproven() || expect.is_refusal()
}

/// The event of a proven user who may not do what was asked for. It names no job.
const OF_REFUSALS: &str = "salt/job/error";

/// Asks once; what is wrong with what came of it.
fn check(
    stage: &mut Stage,
    caller: Caller,
    row: &Row,
    (is_sealed, expect): (bool, Outcome),
) -> Result<Option<String>> {
    let row = &stage.filled(row)?;
    let is_silent = leaves_nothing(caller, expect);
    let (before, bytes_before) = match is_silent {
        true => (stage.files()?, stage.disk_bytes()?),
        false => (Vec::new(), 0),
    };
    let told = ask(stage, caller, row, is_sealed)
        .with_context(|| format!("{caller:?} asks {} {}", row.cmd, row.fields))?;
    if told.outcome != expect {
        return Ok(Some(format!("{:?} instead of {expect:?}", told.outcome)));
    }
    if !is_silent {
        return Ok(None);
    }
    if told.bytes > row.cost.answer_bytes {
        return Ok(Some(format!("an answer of {} bytes", told.bytes)));
    }
    let mut heard = stage.heard()?;
    if expect == Outcome::Forbidden {
        heard.retain(|tag| tag != OF_REFUSALS);
    }
    if !heard.is_empty() {
        return Ok(Some(format!("it was heard: {heard:?}")));
    }
    let grown = stage.disk_bytes()?.saturating_sub(bytes_before);
    if grown > row.cost.disk_bytes {
        return Ok(Some(format!("it takes {grown} bytes of the disk")));
    }
    let mut new = stage.files()?;
    new.retain(|path| !before.contains(path));
    Ok((new.len() > row.cost.files).then(|| format!("it has made {new:?}")))
}
