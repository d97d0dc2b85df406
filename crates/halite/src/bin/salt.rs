//! `salt`.

fn main() {}
