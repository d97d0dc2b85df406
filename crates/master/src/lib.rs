//! The master daemon.
