//! Our master with the minions of real Salt.

use halite_integration_tests::{Kind, for_each_salt, pillar_scenarios, scenarios, state_scenarios};

const OURS: Kind = Kind::Ours;

for_each_salt! {
    fn a_key_is_accepted_and_the_minion_answers(minion) scenarios::key_is_accepted_and_the_minion_answers(OURS, minion);
    fn commands_run(minion) scenarios::commands_run(OURS, minion);
    fn grains_are_reported(minion) scenarios::grains_are_reported(OURS, minion);
    fn files_arrive(minion) scenarios::files_arrive(OURS, minion);
    fn files_go_in_pieces(minion) scenarios::files_go_in_pieces(OURS, minion);
    fn a_small_tree_is_applied(minion) scenarios::a_small_tree_is_applied(OURS, minion);
    fn the_mine_keeps_and_gives(minion) scenarios::the_mine_keeps_and_gives(OURS, minion);
    fn salt_call_reaches_the_master(minion) scenarios::salt_call_reaches_the_master(OURS, minion);
    fn a_deleted_key_has_no_access(minion) scenarios::a_deleted_key_has_no_access(OURS, minion);
    fn the_minion_survives_its_master(minion) scenarios::the_minion_survives_its_master(OURS, minion);
    fn a_long_command_is_waited_for(minion) scenarios::a_long_command_is_waited_for(OURS, minion);
    fn a_second_key_under_one_name_is_denied(minion) scenarios::a_second_key_under_one_name_is_denied(OURS, minion);
    fn pillars_reach_the_minion(minion) pillar_scenarios::pillars_reach_the_minion(OURS, minion);
    fn states_are_applied(minion) state_scenarios::states_are_applied(OURS, minion);
}
