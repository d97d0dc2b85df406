//! Runs one target with libFuzzer; the arguments are libFuzzer's. `cargo xtask fuzz`
//! builds a program for each target and starts it.
//!
//! libFuzzer goes through all counters of a program after each input. A program with all
//! targets has so many that this takes several times longer than to decode a short
//! message; a program of one target has those of the code that it can reach.

#![no_main]

use halite_fuzz::{Run, run_of};
use libfuzzer_sys::fuzz_target;

/// A constant: what it does not name is no part of the program.
const RUN: Run = run_of(env!("HALITE_FUZZ_TARGET"));

fuzz_target!(|bytes: &[u8]| RUN(bytes));
