//! Our programs among themselves.

mod bad_input;
mod bad_publications;
mod bad_runs;
mod bad_states;
mod batches;
mod broken_off;
mod changed_files;
mod daemons;
mod first_day;
mod grains;
mod long_day;
mod main_job;
mod master_schedule;
mod master_side;
mod orchestration;
mod own_python;
mod private_files;
mod pushed_files;
mod python_worker;
mod ranges;
mod reactions;
mod returners;
mod runners;
mod schedules;
mod screens;
mod terminal;
