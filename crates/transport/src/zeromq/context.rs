//! The library's context: one per process, with one I/O thread.

use std::sync::LazyLock;

// A new context has one I/O thread: enough for a loopback's bandwidth, and a
// second one would cost every process memory.
static CONTEXT: LazyLock<tmq::Context> = LazyLock::new(tmq::Context::new);

/// The process-wide context, made on first use.
pub(super) fn context() -> tmq::Context {
    CONTEXT.clone()
}
