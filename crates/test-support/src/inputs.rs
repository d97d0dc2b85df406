//! Files of inputs for tests: a line each, escaped as in a string literal of
//! bytes, so that a person can read and write them.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// Reads the inputs in a file.
///
/// # Errors
/// When there is no file, or a line in it is not in order.
pub fn read(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let text = fs::read_to_string(path)?;
    let mut inputs = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let input = unescape(line).ok_or_else(|| {
            let place = format!("{}:{}: a bad escape", path.display(), n + 1);
            io::Error::new(io::ErrorKind::InvalidData, place)
        })?;
        inputs.push(input);
    }
    Ok(inputs)
}

/// Writes inputs to a file, the short ones first.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, mut inputs: Vec<Vec<u8>>) -> io::Result<()> {
    inputs.sort_by_key(|input| (input.len(), input.clone()));
    inputs.dedup();
    let mut text = String::new();
    for input in inputs {
        let _ = writeln!(text, "{}", input.escape_ascii());
    }
    fs::write(path, text)
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = line.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other @ (b'\\' | b'\'' | b'"') => other,
            _ => return None,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&all.escape_ascii().to_string()), Some(all));
        assert_eq!(unescape("\\q"), None);
        assert_eq!(unescape("\\x4"), None);
    }
}
