//! The named limits of this crate.

use std::time::Duration;

/// Most bytes of a key file that is read; a larger one is an error.
pub const KEY_FILE_BYTES_MAX: u64 = halite_crypto::limits::PEM_BYTES_MAX as u64;

/// Most denied keys that are kept of one id on a server: anybody can send more.
pub const DENIED_KEYS_MAX: usize = 16;

/// Most bytes of such a list that is read.
pub const DENIED_BYTES_MAX: u64 = KEY_FILE_BYTES_MAX * (DENIED_KEYS_MAX as u64 + 1);

/// How often a change to a key is tried when other masters change it too.
pub const CHANGE_TRIES_MAX: usize = 8;

/// Most bytes of `autosign_file`, `autoreject_file` or a grain's list; a
/// larger one is ignored with a warning.
pub const LIST_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Most patterns of one list that need a regular expression; the ones beyond
/// are ignored with a warning, so that a sign-in stays cheap.
pub const LIST_REGEXES_MAX: usize = 2000;

/// Most ids whose token is remembered as checked. At the limit all are
/// forgotten, which costs one signature check each.
pub const TOKENS_REMEMBERED_MAX: usize = 100_000;

/// A listing of a directory of keys is kept once the directory has not changed
/// for this long.
pub const LISTING_SETTLED: Duration = Duration::from_secs(2);

/// Most minions of which it is kept which acceptances of their keys have ended. The
/// oldest is forgotten first.
pub const ENDED_IDS_MAX: usize = 20_000;

/// Most acceptances of one minion that are kept. The oldest is forgotten first.
pub const ENDED_OF_ID_MAX: usize = 8;

/// Most bytes of the file with them that is read.
pub const ENDED_BYTES_MAX: u64 = 4096;

/// Keys that were removed of which a server keeps that for the other masters, which
/// look once a second. More are there until the next look whether there are too many.
pub const REMOVED_KEYS_MAX: usize = 4096;

/// How many keys a process removes until it looks again whether there are too many.
pub const REMOVED_LOOK_INTERVAL: usize = 1024;
