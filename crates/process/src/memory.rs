//! Memory after a burst of work.

use crate::sys;

/// Gives free memory back to the system. The allocator keeps what each thread
/// has ever used; a daemon that idles after a burst has no use for it. Takes a
/// few milliseconds at most.
pub fn give_back() {
    sys::trim_memory();
}
