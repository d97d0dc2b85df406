//! Master and minion configuration files, typed and checked.
