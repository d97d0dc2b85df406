//! Converts text to bytes and back in the requested encoding of a file.

use crate::error::CallError;

/// The name of an encoding without what may be written in it.
fn plain(encoding: &str) -> String {
    encoding
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect()
}

/// Python's exception for what [`encode`] and [`decode`] say.
pub fn wrong(why: String) -> CallError {
    let kind = match why.as_str() {
        why if why.starts_with("unknown encoding") => "LookupError",
        why if why.contains("can't decode") => "UnicodeDecodeError",
        _ => "UnicodeEncodeError",
    };
    CallError::exception(kind, why)
}

/// The text of `bytes`.
///
/// # Errors
/// What is wrong, in Python's words; [`wrong`] makes an exception of it.
pub fn decode(bytes: &[u8], encoding: &str) -> Result<String, String> {
    let units = |bytes: &[u8], of: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks_exact(2).map(|pair| of([pair[0], pair[1]]));
        if !bytes.len().is_multiple_of(2) {
            return Err("'utf-16' codec can't decode bytes: truncated data".to_owned());
        }
        char::decode_utf16(pairs)
            .collect::<Result<String, _>>()
            .map_err(|error| format!("'utf-16' codec can't decode bytes: {error}"))
    };
    let utf8 = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let at = error.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or_default();
            Err(format!(
                "'utf-8' codec can't decode byte 0x{byte:02x} in position {at}: invalid start byte"
            ))
        }
    };
    match plain(encoding).as_str() {
        "utf8" | "u8" => utf8(bytes),
        "utf8sig" => utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
        "utf16" => match bytes {
            [0xfe, 0xff, rest @ ..] => units(rest, u16::from_be_bytes),
            [0xff, 0xfe, rest @ ..] => units(rest, u16::from_le_bytes),
            bytes => units(bytes, u16::from_le_bytes),
        },
        "utf16le" => units(bytes, u16::from_le_bytes),
        "utf16be" => units(bytes, u16::from_be_bytes),
        "latin1" | "iso88591" | "l1" | "cp819" => {
            Ok(bytes.iter().copied().map(char::from).collect())
        }
        "ascii" | "usascii" | "646" => match bytes.iter().position(|byte| !byte.is_ascii()) {
            None => Ok(String::from_utf8_lossy(bytes).into_owned()),
            Some(at) => Err(format!(
                "'ascii' codec can't decode byte 0x{:02x} in position {at}: ordinal not in \
                 range(128)",
                bytes[at]
            )),
        },
        _ => Err(format!("unknown encoding: {encoding}")),
    }
}

/// The bytes of `text`; `errors` says what becomes of characters that the
/// encoding does not have, as in Python.
///
/// # Errors
/// What is wrong, in Python's words; [`wrong`] makes an exception of it.
pub fn encode(text: &str, encoding: &str, errors: &str) -> Result<Vec<u8>, String> {
    let limit = match plain(encoding).as_str() {
        "utf8" | "u8" => return Ok(text.as_bytes().to_vec()),
        "utf8sig" => return Ok([b"\xef\xbb\xbf", text.as_bytes()].concat()),
        "utf16" => {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            return Ok(units.flat_map(u16::to_le_bytes).collect());
        }
        "utf16le" => return Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        "utf16be" => return Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        "latin1" | "iso88591" | "l1" | "cp819" => 256,
        "ascii" | "usascii" | "646" => 128,
        _ => return Err(format!("unknown encoding: {encoding}")),
    };
    let mut bytes = Vec::with_capacity(text.len());
    for (at, c) in text.chars().enumerate() {
        let code = u32::from(c);
        match u8::try_from(code) {
            Ok(byte) if code < limit => bytes.push(byte),
            _ => match errors {
                "ignore" => {}
                "replace" => bytes.push(b'?'),
                "xmlcharrefreplace" => bytes.extend(format!("&#{code};").bytes()),
                "backslashreplace" => bytes.extend(escaped(code).bytes()),
                _ => {
                    let name = if limit == 256 { "latin-1" } else { "ascii" };
                    return Err(format!(
                        "'{name}' codec can't encode character '{}' in position {at}: ordinal not \
                         in range({limit})",
                        escaped(code)
                    ));
                }
            },
        }
    }
    Ok(bytes)
}

fn escaped(code: u32) -> String {
    match code {
        0..=0xff => format!("\\x{code:02x}"),
        0x100..=0xffff => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for encoding in [
            "utf-8",
            "utf-8-sig",
            "utf-16",
            "UTF-16-LE",
            "utf_16_be",
            "latin-1",
        ] {
            let bytes = encode("grün\n", encoding, "strict").unwrap();
            assert_eq!(decode(&bytes, encoding).unwrap(), "grün\n", "{encoding}");
        }
        assert!(decode(b"\xff", "ascii").is_err());
        assert!(decode(b"\xff", "utf-8").is_err());
        assert!(decode(b"abc", "utf-16").is_err());
        assert!(decode(b"a", "klingon").is_err());
    }

    #[test]
    fn characters_that_do_not_fit_are_handled_as_asked() {
        assert_eq!(encode("ü", "latin-1", "strict").unwrap(), [0xfc]);
        assert_eq!(
            encode("€", "latin-1", "strict").unwrap_err(),
            "'latin-1' codec can't encode character '\\u20ac' in position 0: ordinal not in range(256)"
        );
        assert_eq!(encode("a€", "ascii", "replace").unwrap(), b"a?");
        assert_eq!(encode("a€", "ascii", "ignore").unwrap(), b"a");
        assert!(encode("a", "klingon", "strict").is_err());
    }
}
