//! The functions and states of files and archives.
