//! Text to bytes in the encodings that files are asked to have.

/// The bytes of `text`; what is wrong in Python's words.
pub(crate) fn encode(text: &str, encoding: &str, errors: &str) -> Result<Vec<u8>, String> {
    let plain: String = encoding
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect();
    let limit = match plain.as_str() {
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
