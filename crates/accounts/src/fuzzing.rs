//! Gives the fuzz targets access to the private parsers of this crate; no
//! interface.

use crate::ssh::parse;

/// An `authorized_keys` of a user, which root rewrites: a key that is written
/// again is one line with the same key, kind and options, so that a user's file
/// gives nobody else's key more rights.
///
/// # Panics
/// When it is another one.
pub fn authorized_keys(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for key in text.lines().filter_map(parse) {
        let line = key.line();
        assert_eq!(line.lines().count(), 1, "{line:?}");
        assert_eq!(parse(&line), Some(key), "{line:?}");
    }
}
