//! Binary data as text: hexadecimal, base64, PEM; and where it is found.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halite_call::{CallError, os_error};
use halite_proto::Value;

/// What is read from a file at most.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok())
        .collect()
}

/// `0A:FF`
pub(crate) fn pretty_hex(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

/// A number that is not negative in the same way, without leading zeros.
pub(crate) fn pretty_number(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = &bytes[zeros.min(bytes.len().saturating_sub(1))..];
    pretty_hex(bytes)
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// What is not of base64 is passed over.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let digits: Vec<u8> = text.bytes().filter(is_digit).collect();
    STANDARD.decode(digits).ok()
}

/// One block of PEM.
pub(crate) fn to_pem(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = more;
    }
    pem + &format!("-----END {label}-----\n")
}

/// A block of PEM that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pem {
    pub(crate) label: String,
    /// Lines with a colon before the data.
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Pem {
    pub(crate) fn data(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.body).ok()
    }

    /// Written anew, in lines of the usual length.
    pub(crate) fn written(&self) -> String {
        let mut pem = format!("-----BEGIN {}-----\n", self.label);
        for header in &self.headers {
            pem += &format!("{header}\n");
        }
        if !self.headers.is_empty() {
            pem.push('\n');
        }
        let mut rest = self.body.as_str();
        while !rest.is_empty() {
            let end = rest.char_indices().nth(64).map_or(rest.len(), |(at, _)| at);
            pem += &rest[..end];
            pem.push('\n');
            rest = &rest[end..];
        }
        pem + &format!("-----END {}-----\n", self.label)
    }
}

/// The blocks of PEM in a text, lines or not.
pub(crate) fn pems(text: &str) -> Vec<Pem> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("-----BEGIN ") {
        rest = &rest[start + "-----BEGIN ".len()..];
        let Some(end) = rest.find("-----") else {
            break;
        };
        let label = &rest[..end];
        let after = &rest[end + 5..];
        let close = format!("-----END {label}-----");
        let Some(stop) = after.find(&close) else {
            continue;
        };
        let (headers, body): (Vec<&str>, Vec<&str>) = after[..stop]
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .partition(|line| line.contains(':'));
        found.push(Pem {
            label: label.to_owned(),
            headers: headers.into_iter().map(str::to_owned).collect(),
            body: body.concat().split_whitespace().collect(),
        });
        rest = &after[stop + close.len()..];
    }
    found
}

pub(crate) fn is_pem(data: &[u8]) -> bool {
    let begin = b"-----BEGIN";
    data.windows(begin.len()).any(|part| part == begin)
}

/// The file that an argument names, if it names one.
pub(crate) fn file_of(value: &Value) -> Option<PathBuf> {
    let text = value.as_str()?;
    if text.is_empty() || text.contains(['\n', '\0']) || text.len() > 4096 {
        return None;
    }
    let path = PathBuf::from(text);
    path.is_file().then_some(path)
}

/// Data from a file, from bytes, or from PEM, hexadecimal digits or base64.
pub(crate) fn load(value: &Value) -> Result<Vec<u8>, CallError> {
    if let Some(path) = file_of(value) {
        let size = std::fs::metadata(&path).map_err(|error| os_error(&error, &path))?;
        if size.len() > FILE_BYTES_MAX {
            return Err(CallError::command(format!(
                "could not read {}: more than {FILE_BYTES_MAX} bytes",
                path.display()
            )));
        }
        return halite_call::paths::read(&path).map_err(|error| os_error(&error, &path));
    }
    let found = match value {
        Value::Bytes(bytes) => Some(bytes.clone()),
        Value::Str(text) => match text.strip_prefix("b64:") {
            Some(digits) => from_base64(digits),
            None if is_pem(text.as_bytes()) => Some(text.clone().into_bytes()),
            None => from_hex(text).or_else(|| from_base64(text)),
        },
        _ => None,
    };
    found.ok_or_else(|| {
        CallError::invocation(
            "Could not load provided source. You need to pass an existing file, (PEM|hex|base64)-encoded string or raw bytes.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_read_with_and_without_lines() {
        let text = "x\n-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nAAEC\n-----END A-----\n-----BEGIN B----- AAEC AwQF -----END B-----";
        let found = pems(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].headers, ["Proc-Type: 4,ENCRYPTED"]);
        assert_eq!(found[1].data().unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(to_pem("B", &[0, 1, 2, 3, 4, 5]), found[1].written());
        assert!(pems("-----BEGIN A-----\nAAEC\n-----END B-----").is_empty());
    }

    #[test]
    fn numbers_have_no_leading_zeros() {
        assert_eq!(pretty_number(&[0, 0x0a, 0xff]), "0A:FF");
        assert_eq!(pretty_number(&[0]), "00");
        assert_eq!(from_hex("0a fF").unwrap(), [0x0a, 0xff]);
        assert_eq!(from_hex("0a f"), None);
    }
}
