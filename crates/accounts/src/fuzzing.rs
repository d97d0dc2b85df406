//! What fuzzing does with the private parsers of this crate; no interface.

use crate::ssh::{Key, parse};

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
        let again = parse(&line);
        let again = again.as_ref().map(parts);
        assert_eq!(again, Some(parts(&key)), "{line:?}");
    }
}

/// What a key is and what it may do; between two commas stands nothing.
fn parts(key: &Key) -> (&str, &str, &str, Vec<&str>) {
    let options = key.options.iter().map(String::as_str);
    let options = options.filter(|option| !option.is_empty()).collect();
    (&key.key, &key.enc, &key.comment, options)
}
