//! Runs one target with libFuzzer: its name is in `HALITE_FUZZ_TARGET`, the
//! arguments are libFuzzer's. `cargo xtask fuzz` builds and starts it.

#![no_main]
#![allow(clippy::print_stderr, reason = "a tool for people")]

use std::sync::OnceLock;

use halite_fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<Target> = OnceLock::new();

/// Takes the target from the environment, since the arguments are libFuzzer's.
fn chosen() -> Target {
    let name = std::env::var("HALITE_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        eprintln!("HALITE_FUZZ_TARGET names no target: {name:?}");
        std::process::exit(2)
    })
}

fuzz_target!(|bytes: &[u8]| (TARGET.get_or_init(chosen).run)(bytes));
