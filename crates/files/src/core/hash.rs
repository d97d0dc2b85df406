//! Hashes of files.

use std::io::{self, Read};
use std::path::Path;

use halite_crypto::{HashType, Hasher};

use super::open;

/// The types and the lengths of their hashes, shortest first.
pub(crate) const LENGTHS: &[(&str, usize)] = &[
    ("md5", 32),
    ("sha1", 40),
    ("sha224", 56),
    ("sha256", 64),
    ("sha384", 96),
    ("sha512", 128),
];

/// The hash of a file, read piece by piece.
pub(crate) fn of_file(path: &Path, hash_type: HashType) -> io::Result<String> {
    of_reader(&mut open::to_read(path)?, hash_type)
}

/// The hash of everything a reader gives.
pub(crate) fn of_reader(reader: &mut dyn Read, hash_type: HashType) -> io::Result<String> {
    let mut hasher = Hasher::new(hash_type);
    let mut buffer = vec![0; 128 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hasher.finish_hex()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// The type of a hash of this length.
pub(crate) fn type_of_length(length: usize) -> Option<&'static str> {
    let found = LENGTHS.iter().find(|(_, own)| *own == length);
    found.map(|(name, _)| *name)
}

/// The length of hashes of the type `name`.
pub(crate) fn length_of(name: &str) -> Option<usize> {
    let found = LENGTHS.iter().find(|(own, _)| *own == name);
    found.map(|(_, length)| *length)
}

/// `md5 (32), sha1 (40), ...`, for messages.
pub(crate) fn lengths_text() -> String {
    let texts: Vec<String> = LENGTHS
        .iter()
        .map(|(name, length)| format!("{name} ({length})"))
        .collect();
    texts.join(", ")
}

/// Whether a text is made of hexadecimal digits.
pub(crate) fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
