//! Our programs among themselves.

mod bad_input;
mod daemons;
mod main_job;
mod screens;
