//! Our minion with the masters of real Salt.

use halite_integration_tests::{Kind, for_each_salt, pillar_scenarios, scenarios, state_scenarios};

const OURS: Kind = Kind::Ours;

for_each_salt! {
    fn a_key_is_accepted_and_the_minion_answers(master) scenarios::key_is_accepted_and_the_minion_answers(master, OURS);
    fn commands_run(master) scenarios::commands_run(master, OURS);
    fn grains_are_reported(master) scenarios::grains_are_reported(master, OURS);
    fn files_arrive(master) scenarios::files_arrive(master, OURS);
    fn the_mine_keeps_and_gives(master) scenarios::the_mine_keeps_and_gives(master, OURS);
    fn salt_call_reaches_the_master(master) scenarios::salt_call_reaches_the_master(master, OURS);
    fn a_deleted_key_has_no_access(master) scenarios::a_deleted_key_has_no_access(master, OURS);
    fn the_minion_survives_its_master(master) scenarios::the_minion_survives_its_master(master, OURS);
    fn a_long_command_is_waited_for(master) scenarios::a_long_command_is_waited_for(master, OURS);
    fn a_second_key_under_one_name_is_denied(master) scenarios::a_second_key_under_one_name_is_denied(master, OURS);
    fn pillars_reach_the_minion(master) pillar_scenarios::pillars_reach_the_minion(master, OURS);
    fn a_small_tree_is_applied(master) scenarios::a_small_tree_is_applied(master, OURS);
    fn states_are_applied(master) state_scenarios::states_are_applied(master, OURS);
    fn one_run_at_a_time(master) state_scenarios::one_run_at_a_time(master, OURS);
}
