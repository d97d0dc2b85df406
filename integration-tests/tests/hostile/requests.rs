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
    let mut stage = Stage::start()?;
    check_served(&mut stage)?;
    stage.heard()?;
    let mut wrong = Vec::new();
    let mut cells = 0;
    // Those first of whom nothing may be heard: what others have done is told
    // while it goes on.
    for is_unproven in [true, false] {
        for (row, is_sealed) in rows() {
            for (caller, expect) in Caller::ALL.into_iter().zip(row.cells) {
                if caller.is_unproven() != is_unproven {
                    continue;
                }
                cells += 1;
                if caller.is_minion() && !is_unproven {
                    stage.renew()?;
                }
                let said = check(&mut stage, caller, row, (is_sealed, expect))?;
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
    check_served(&mut stage)
}

/// All rows, and whether they are of minions.
pub(crate) fn rows() -> impl Iterator<Item = (&'static Row, bool)> {
    let sealed = SEALED.iter().copied().flatten().map(|row| (row, true));
    sealed.chain(CLEAR.iter().copied().flatten().map(|row| (row, false)))
}

/// Asks once; what is wrong with what came of it.
fn check(
    stage: &mut Stage,
    caller: Caller,
    row: &Row,
    (is_sealed, expect): (bool, Outcome),
) -> Result<Option<String>> {
    let is_silent = caller.is_unproven();
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
    let heard = stage.heard()?;
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
