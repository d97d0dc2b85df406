//! The real binaries on loopback, and real Salt as their peer.
