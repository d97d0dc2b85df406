#![no_main]

#[path = "../../tests/house/mod.rs"]
mod house;
#[path = "../trees.rs"]
mod trees;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trees::compile(bytes));
