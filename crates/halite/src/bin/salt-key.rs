//! `salt-key`.

fn main() {}
