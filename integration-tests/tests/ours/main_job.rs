//! The main purpose of the project, and the scenarios that also run with real Salt.

use anyhow::Result;
use halite_integration_tests::{Kind, pillar_scenarios, scenarios, state_scenarios};

const OURS: Kind = Kind::Ours;

#[test]
fn two_masters_with_one_key_pair_share_three_minions() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[OURS; 2], &[OURS; 3])
}

#[test]
fn a_key_is_accepted_and_the_minion_answers() -> Result<()> {
    scenarios::key_is_accepted_and_the_minion_answers(OURS, OURS)
}

#[test]
fn commands_run() -> Result<()> {
    scenarios::commands_run(OURS, OURS)
}

#[test]
fn grains_are_reported() -> Result<()> {
    scenarios::grains_are_reported(OURS, OURS)
}

#[test]
fn files_arrive() -> Result<()> {
    scenarios::files_arrive(OURS, OURS)
}

#[test]
fn files_go_in_pieces() -> Result<()> {
    scenarios::files_go_in_pieces(OURS, OURS)
}

#[test]
fn pillars_reach_the_minion() -> Result<()> {
    pillar_scenarios::pillars_reach_the_minion(OURS, OURS)
}

#[test]
fn the_mine_keeps_and_gives() -> Result<()> {
    scenarios::the_mine_keeps_and_gives(OURS, OURS)
}

#[test]
fn salt_call_reaches_the_master() -> Result<()> {
    scenarios::salt_call_reaches_the_master(OURS, OURS)
}

#[test]
fn a_deleted_key_has_no_access() -> Result<()> {
    scenarios::a_deleted_key_has_no_access(OURS, OURS)
}

#[test]
fn the_minion_survives_its_master() -> Result<()> {
    scenarios::the_minion_survives_its_master(OURS, OURS)
}

#[test]
fn a_long_command_is_waited_for() -> Result<()> {
    scenarios::a_long_command_is_waited_for(OURS, OURS)
}

#[test]
fn a_second_key_under_one_name_is_denied() -> Result<()> {
    scenarios::a_second_key_under_one_name_is_denied(OURS, OURS)
}

#[test]
fn states_are_applied() -> Result<()> {
    state_scenarios::states_are_applied(OURS, OURS)
}

#[test]
fn one_run_at_a_time() -> Result<()> {
    state_scenarios::one_run_at_a_time(OURS, OURS)
}
