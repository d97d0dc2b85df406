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
mod long_day;
mod main_job;
mod master_side;
mod orchestration;
mod own_python;
mod python_worker;
mod reactions;
mod returners;
mod runners;
mod screens;
mod terminal;
