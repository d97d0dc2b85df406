//! `salt-call`.

fn main() {}
