//! Whether bytes are text, and in which encoding.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use halite_call::{CallError, encoding, paths};

use super::open;
use crate::limits::TEXT_BYTES_MAX;
use halite_call::os_error;

/// Bytes that are looked at to tell text from the rest.
const SAMPLE_BYTES: usize = 512;

/// Whether the start of a file looks like text: no zero byte, and UTF-8 or few
/// control characters.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    if sample.is_empty() {
        return true;
    }
    if sample.contains(&0) {
        return false;
    }
    match std::str::from_utf8(sample) {
        Ok(_) => return true,
        // The sample may end within a character.
        Err(error) if error.error_len().is_none() && sample.len() < bytes.len() => return true,
        Err(_) => {}
    }
    let odd = sample
        .iter()
        .filter(|byte| !matches!(byte, 32..=126 | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c))
        .count();
    // More than three in ten are too many.
    odd * 10 <= sample.len() * 3
}

/// Like [`is_text`] for a file.
pub(crate) fn file_is_text(path: &Path) -> io::Result<bool> {
    let mut sample = Vec::with_capacity(SAMPLE_BYTES + 1);
    open::to_read(path)?
        .take(SAMPLE_BYTES as u64 + 1)
        .read_to_end(&mut sample)?;
    Ok(is_text(&sample))
}

/// Text from bytes: UTF-8, else each byte is its own character.
pub(crate) fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Text from bytes with a way back, for functions that change text: bytes that
/// are no UTF-8 are a character each.
pub(crate) struct Text {
    /// The text.
    pub(crate) text: String,
    bytewise: bool,
    /// The one that was asked for.
    encoding: Option<String>,
}

impl Text {
    /// Takes the bytes.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self {
                text,
                bytewise: false,
                encoding: None,
            },
            Err(error) => Self {
                text: error
                    .as_bytes()
                    .iter()
                    .map(|byte| char::from(*byte))
                    .collect(),
                bytewise: true,
                encoding: None,
            },
        }
    }

    /// Takes bytes that are text in this encoding.
    pub(crate) fn in_encoding(bytes: &[u8], encoding: &str) -> Result<Self, CallError> {
        Ok(Self {
            text: encoding::decode(bytes, encoding).map_err(encoding::wrong)?,
            bytewise: false,
            encoding: Some(encoding.to_owned()),
        })
    }

    /// Other text (a pattern, a replacement) as it would be in this one.
    pub(crate) fn fit(&self, other: &str) -> String {
        if self.bytewise {
            other.bytes().map(char::from).collect()
        } else {
            other.to_owned()
        }
    }

    /// The bytes of a changed text, in the encoding that was asked for.
    pub(crate) fn encoded(&self, text: &str) -> Result<Vec<u8>, CallError> {
        match &self.encoding {
            Some(name) => encoding::encode(text, name, "strict").map_err(encoding::wrong),
            None => Ok(self.bytes(text)),
        }
    }

    /// The bytes of a changed text.
    pub(crate) fn bytes(&self, text: &str) -> Vec<u8> {
        if self.bytewise {
            text.chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
                .collect()
        } else {
            text.as_bytes().to_vec()
        }
    }
}

/// Reads a whole file that is going to be changed, which must not be too large
/// to work on.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, CallError> {
    all_of(path, paths::open_to_read(path))
}

/// The same for a file that is only looked at.
pub(crate) fn look(path: &Path) -> Result<Vec<u8>, CallError> {
    all_of(path, open::to_read(path))
}

fn all_of(path: &Path, file: io::Result<File>) -> Result<Vec<u8>, CallError> {
    let wrong = |error: io::Error| os_error(&error, path);
    let file = file.map_err(wrong)?;
    let mut bytes = Vec::new();
    let mut limited = file.take(TEXT_BYTES_MAX + 1);
    limited.read_to_end(&mut bytes).map_err(wrong)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(CallError::command(format!(
            "{} has more than {TEXT_BYTES_MAX} bytes",
            path.display()
        )));
    }
    Ok(bytes)
}

/// Text from bytes; what is no UTF-8 is Python's `UnicodeDecodeError`.
pub(crate) fn utf8(bytes: Vec<u8>) -> Result<String, CallError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        let why = match (error.utf8_error().error_len(), byte) {
            (None, _) => "unexpected end of data",
            (Some(_), 0x80..=0xc1 | 0xf5..=0xff) => "invalid start byte",
            (Some(_), _) => "invalid continuation byte",
        };
        CallError::exception(
            "UnicodeDecodeError",
            format!("'utf-8' codec can't decode byte 0x{byte:02x} in position {at}: {why}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_is_told_from_text() {
        assert!(is_text(b""));
        assert!(is_text("grün".as_bytes()));
        assert!(is_text(b"g\xfcn and more text"));
        assert!(!is_text(b"a\0b"));
        assert!(!is_text(b"\xff\xfe\x00A"));
    }

    #[test]
    fn bytes_that_are_no_utf8_come_back_as_they_were() {
        let text = Text::new(vec![b'a', 0xfc, b'b']);
        let changed = text.text.replace('b', "c");
        assert_eq!(text.bytes(&changed), [b'a', 0xfc, b'c']);
        let text = Text::new("grün".into());
        assert_eq!(text.bytes(&text.text), "grün".as_bytes());
    }
}
