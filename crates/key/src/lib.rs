//! The pki directory of a master and everything that is done to it.
