//! The table of requests beside a master of real Salt: the cells in which that one
//! decides otherwise, and why ours does not.

use anyhow::{Context, Result, ensure};
use halite_integration_tests::Kind;
use halite_test_support::have_root;

use crate::callers::ask;
use crate::doors::{Caller, Outcome};
use crate::requests::rows;
use crate::stage::{Stage, check_served};

/// A cell in which a master of Salt 3008.5 decides otherwise.
struct Difference {
    cmd: &'static str,
    /// Of rows whose fields hold this.
    with: &'static str,
    caller: Caller,
    theirs: Outcome,
}

const fn differs(cmd: &'static str, caller: Caller, theirs: Outcome) -> Difference {
    Difference {
        cmd,
        with: "",
        caller,
        theirs,
    }
}

const DIFFERENCES: [Difference; 6] = [
    // It takes the first return of a job that it does not know, and fails with the
    // second, for want of a file.
    Difference {
        with: "20260101000000000007",
        ..differs("_return", Caller::Granted, Outcome::Nothing)
    },
    // It names the job only where somebody has returned.
    differs("minion_publish", Caller::Granted, Outcome::Nothing),
    // Returns under the name of a syndic are taken from every minion.
    differs("_syndic_return", Caller::Accepted, Outcome::Answered),
    differs("_syndic_return", Caller::Granted, Outcome::Answered),
    // Whoever has any right by `publisher_acl` may call all runners and wheel
    // functions.
    differs("runner", Caller::Limited, Outcome::Answered),
    differs("wheel", Caller::Limited, Outcome::Answered),
];

#[test]
fn masters_of_salt_decide_otherwise_only_where_it_is_listed() -> Result<()> {
    // Its programs are installed for the user who runs the tests.
    if !have_root() {
        return Ok(());
    }
    let mut stage = Stage::of(Kind::Salt3008)?;
    check_served(&mut stage)?;
    let mut wrong = Vec::new();
    let mut cells = 0;
    for (row, is_sealed) in rows().filter(|(row, _)| !row.cmd.contains("halite")) {
        for (caller, ours) in Caller::ALL.into_iter().zip(row.cells) {
            cells += 1;
            if caller.is_minion() && !caller.is_unproven() {
                stage.renew()?;
            }
            let told = ask(&stage, caller, &stage.filled(row)?, is_sealed)
                .with_context(|| format!("{caller:?} asks {} {}", row.cmd, row.fields))?;
            let mut listed = DIFFERENCES.iter();
            let listed = listed.find(|listed| {
                listed.cmd == row.cmd && listed.caller == caller && row.fields.contains(listed.with)
            });
            let expect = listed.map_or(ours, |listed| listed.theirs);
            if told.outcome != expect {
                wrong.push(format!(
                    "{caller:?} asks {} {}: {:?} instead of {expect:?}",
                    row.cmd, row.fields, told.outcome
                ));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(cells > 300, "only {cells} cells");
    Ok(())
}
