//! Minions of every kind with a list of masters of which one is ours and one
//! is real Salt's, sharing a key pair.

use anyhow::Result;
use halite_integration_tests::{Kind, scenarios};

const MINIONS: [Kind; 3] = [Kind::Ours, Kind::Salt3008, Kind::Salt3006];

#[test]
fn ours_dies_and_3008_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Ours, Kind::Salt3008], &MINIONS)
}

#[test]
fn salt_3008_dies_and_ours_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Salt3008, Kind::Ours], &MINIONS)
}

#[test]
fn ours_dies_and_3006_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Ours, Kind::Salt3006], &MINIONS)
}

#[test]
fn salt_3006_dies_and_ours_goes_on() -> Result<()> {
    scenarios::several_masters_share_their_minions(&[Kind::Salt3006, Kind::Ours], &MINIONS)
}

#[test]
#[ignore = "the long form: cargo xtask test --long"]
fn three_kinds_of_master_share_all_minions() -> Result<()> {
    scenarios::several_masters_share_their_minions(
        &[Kind::Ours, Kind::Salt3008, Kind::Salt3006],
        &[Kind::Ours, Kind::Salt3008, Kind::Salt3006, Kind::Salt3007],
    )
}
