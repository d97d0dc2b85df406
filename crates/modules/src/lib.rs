//! Execution modules: the functions a minion can run.
