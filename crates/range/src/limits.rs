//! Limits of requests to a range server.

use std::time::Duration;

/// How long a question may take, from the look-up of the server's name to the
/// last byte; past it the question has failed.
pub const QUESTION_TIME_MAX: Duration = Duration::from_secs(5);

/// Longest expression in bytes; a longer one is an error. It is what fits the
/// first line of a request on all servers.
pub const EXPRESSION_BYTES_MAX: usize = 7500;

/// Most bytes of an answer; more is an error.
pub const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Most hosts of an answer; more is an error.
pub const HOSTS_MAX: usize = 100_000;

/// How long an answer is kept: the same command asks several times.
pub const KEPT_FOR: Duration = Duration::from_secs(5);

/// How long a server that could not be reached is not asked again.
pub const LEFT_ALONE_FOR: Duration = Duration::from_secs(10);

/// Most answers that are kept; the oldest goes first.
pub const KEPT_MAX: usize = 64;
