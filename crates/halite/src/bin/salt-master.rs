//! `salt-master`.

fn main() {}
