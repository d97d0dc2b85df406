//! The encodings that a file of settings may be asked to have.

use halite_modules::CallError;

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    /// A byte is a character; of ASCII only the first half.
    Bytes {
        limit: u32,
    },
}

impl Encoding {
    /// By its name; UTF-8 where none is given.
    pub(super) fn parse(name: Option<&str>) -> Result<Self, CallError> {
        let Some(name) = name else {
            return Ok(Self::Utf8);
        };
        let plain = name.to_lowercase().replace(['-', '_', ' '], "");
        match plain.as_str() {
            "utf8" | "u8" => Ok(Self::Utf8),
            "latin1" | "iso88591" | "l1" => Ok(Self::Bytes { limit: 0x100 }),
            "ascii" | "usascii" => Ok(Self::Bytes { limit: 0x80 }),
            _ => Err(CallError::exception(
                "LookupError",
                format!("unknown encoding: {name}"),
            )),
        }
    }

    pub(super) fn decode(self, bytes: Vec<u8>) -> Result<String, CallError> {
        let wrong = |at: usize| {
            let text = format!("can't decode the byte in position {at}");
            CallError::exception("UnicodeDecodeError", text)
        };
        match self {
            Self::Utf8 => {
                String::from_utf8(bytes).map_err(|error| wrong(error.utf8_error().valid_up_to()))
            }
            Self::Bytes { limit } => {
                match bytes.iter().position(|byte| u32::from(*byte) >= limit) {
                    Some(at) => Err(wrong(at)),
                    None => Ok(bytes.into_iter().map(char::from).collect()),
                }
            }
        }
    }

    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, CallError> {
        let Self::Bytes { limit } = self else {
            return Ok(text.as_bytes().to_vec());
        };
        text.chars()
            .enumerate()
            .map(|(at, c)| match u8::try_from(u32::from(c)) {
                Ok(byte) if u32::from(byte) < limit => Ok(byte),
                _ => Err(CallError::exception(
                    "UnicodeEncodeError",
                    format!("can't encode the character in position {at}"),
                )),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Encoding;

    #[test]
    fn what_is_written_can_be_read() {
        for name in [None, Some("UTF-8"), Some("latin-1"), Some("iso_8859_1")] {
            let encoding = Encoding::parse(name).unwrap();
            let bytes = encoding.encode("grün").unwrap();
            assert_eq!(encoding.decode(bytes).unwrap(), "grün");
        }
        let ascii = Encoding::parse(Some("ascii")).unwrap();
        assert!(ascii.encode("ü").is_err());
        assert!(ascii.decode(vec![0xfc]).is_err());
        assert!(Encoding::parse(Some("klingon")).is_err());
    }
}
