//! Asks a directory.
