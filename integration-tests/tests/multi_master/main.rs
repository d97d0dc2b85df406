//! Several masters at once, and masters and minions that come and go: the purpose
//! of the project. Each test is named after a problem of Salt's users.

mod beacons;
mod cables;
mod chaos;
mod delays;
mod disks;
mod failing_over;
mod herd;
mod highstates;
mod ipc_ports;
mod kills;
mod large_files;
mod links;
mod load;
mod lost_commands;
mod lost_results;
mod names;
mod once;
mod one_id;
mod options;
mod promises;
mod removed_files;
mod schedule;
mod signed_keys;
mod slow_wires;
mod support;
mod tools;
mod waiting_keys;
