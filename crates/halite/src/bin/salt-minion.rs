//! `salt-minion`.

fn main() {}
