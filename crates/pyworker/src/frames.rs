//! Frames of the process, which code of users may have written.

use std::io::{self, Read};

use serde_json::Value as Json;

use crate::limits::{FRAME_BYTES_MAX, FRAME_VALUES_MAX};

/// Reads a frame.
///
/// # Errors
/// When it is too large, holds too much, or is no JSON; when there is no more.
pub(crate) fn receive(from: &mut impl Read) -> io::Result<Json> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let length = u64::from(u32::from_be_bytes(head));
    if length > FRAME_BYTES_MAX as u64 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a frame is too large",
        ));
    }
    let mut frame = Vec::new();
    from.take(length).read_to_end(&mut frame)?;
    if frame.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if has_too_many_values(&frame) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame holds more than {FRAME_VALUES_MAX} values"),
        ));
    }
    serde_json::from_slice(&frame)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Whether there are more values in the JSON of a frame than may be: each takes far
/// more memory than its text.
fn has_too_many_values(frame: &[u8]) -> bool {
    if frame.len() <= FRAME_VALUES_MAX {
        return false;
    }
    let (mut values, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in frame {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values > FRAME_VALUES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_taken(json: &str) -> bool {
        let mut frame = u32::try_from(json.len()).unwrap().to_be_bytes().to_vec();
        frame.extend(json.as_bytes());
        receive(&mut frame.as_slice()).is_ok()
    }

    #[test]
    fn a_frame_holds_so_many_values_and_texts_are_one_each() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 1));
        assert!(is_taken(&list(FRAME_VALUES_MAX)));
        assert!(!is_taken(&list(FRAME_VALUES_MAX + 1)));
        let empty = format!("[{}[]]", "[],".repeat(FRAME_VALUES_MAX / 2));
        assert!(!is_taken(&empty));
        let text = r#"a,[{:\"\\"#.repeat(FRAME_VALUES_MAX / 4);
        assert!(is_taken(&format!("[\"{text}\", 1]")));
    }
}
