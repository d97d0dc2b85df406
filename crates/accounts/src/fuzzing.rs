//! Gives the fuzz targets access to the private parsers of this crate; no
//! interface.

use halite_crypto::HashType;
use halite_proto::{Map, Value};

use crate::ssh::known_hosts::read_entries;
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

/// What `ssh-keyscan` has got of a server, or `ssh-keygen` has found in a user's
/// `known_hosts`: the line that is written of an entry holds that entry alone.
///
/// # Panics
/// When it is another one.
pub fn known_hosts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for entry in read_entries(&text, HashType::Sha256) {
        let field = |entry: &Map, name| entry.get(name).and_then(Value::as_str).map(str::to_owned);
        let words = ["hostname", "enc", "key"].map(|name| field(&entry, name));
        let line = words.map(Option::unwrap_or_default).join(" ");
        assert_eq!(line.lines().count(), 1, "{line:?}");
        assert_eq!(read_entries(&line, HashType::Sha256), [entry], "{line:?}");
    }
}
