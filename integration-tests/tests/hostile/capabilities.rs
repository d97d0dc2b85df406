//! Capabilities of Halite peers give no rights: each uses requests of the table,
//! which are checked like all others. The minions of the other tests name none at
//! their sign-in.

use anyhow::Result;
use halite_proto::Capabilities;

use crate::doors::{CLEAR, Caller, Outcome, SEALED};
use crate::requests::check_cells_of;
use crate::stage::Stage;

/// The requests that a capability changes, or brings with it.
fn requests(of: Capabilities) -> [(bool, &'static str, &'static [&'static str]); 11] {
    // A further one has to say what it goes through.
    let Capabilities {
        replay,
        signs_of_life,
        own_jobs,
        whereabouts,
        pieces,
        batches,
        return_pieces,
        processes,
        commits,
        come_again,
        answered_signs,
    } = of;
    [
        (replay, "replay", &["_halite_replay"]),
        // Over the subscription, each with a proof by the session key.
        (signs_of_life, "signs of life", &["_auth"]),
        (own_jobs, "own jobs", &["_return"]),
        (whereabouts, "whereabouts", &["_halite_whereabouts"]),
        (pieces, "pieces", &["_serve_file", "_halite_held"]),
        (batches, "batches", &["_minion_event"]),
        (return_pieces, "return pieces", &["_halite_return_piece"]),
        (processes, "processes", &["_halite_replay"]),
        (commits, "commits", &["_halite_commits"]),
        (come_again, "come again", &["_auth"]),
        // Beside publications, each with a proof by the session key.
        (answered_signs, "answered signs", &["_auth"]),
    ]
}

#[test]
fn every_capability_goes_through_requests_of_the_table() {
    let mut named = Vec::new();
    for (is_ours, name, requests) in requests(Capabilities::OURS) {
        assert!(is_ours, "{name}");
        for cmd in requests {
            let rows = SEALED.iter().chain(CLEAR).copied().flatten();
            let mut rows = rows.filter(|row| row.cmd == *cmd).peekable();
            assert!(rows.peek().is_some(), "{name}: no row of {cmd}");
            for row in rows {
                for (caller, cell) in Caller::ALL.into_iter().zip(row.cells) {
                    let gains = [Outcome::Answered, Outcome::Session].contains(&cell);
                    let is_minion = matches!(caller, Caller::Accepted | Caller::Granted);
                    assert!(is_minion || !gains, "{cmd} of {caller:?}");
                }
            }
            named.push(*cmd);
        }
    }
    // What only Halite has is of some capability.
    let own = SEALED.iter().copied().flatten();
    for row in own.filter(|row| row.cmd.starts_with("_halite")) {
        assert!(named.contains(&row.cmd), "{} is of no capability", row.cmd);
    }
}

#[test]
fn minions_that_name_all_capabilities_get_what_others_get() -> Result<()> {
    let mut stage = Stage::start()?;
    stage.let_name(Capabilities::OURS)?;
    check_cells_of(&mut stage, &[Caller::Accepted, Caller::Granted])
}
