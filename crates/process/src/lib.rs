//! What a process owes its operating system: identity, background, pid file, logs, readiness.
