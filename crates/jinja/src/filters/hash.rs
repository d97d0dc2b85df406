//! Digests and encodings. The host computes the digests.

use super::only;
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::methods::hex;
use crate::value::{Native, Value};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "md5" => |machine, args| digest(machine, args, "md5"),
        "sha1" => |machine, args| digest(machine, args, "sha1"),
        "sha256" => |machine, args| digest(machine, args, "sha256"),
        "sha512" => |machine, args| digest(machine, args, "sha512"),
        "base64_encode" => |_, args| Ok(Value::str(encode(&bytes(&only(args, "base64_encode")?)?))),
        "base64_decode" => |_, args| {
            let value = only(args, "base64_decode")?;
            let decoded =
                decode(&bytes(&value)?).ok_or_else(|| Error::of_value("Incorrect padding"))?;
            Ok(match String::from_utf8(decoded) {
                Ok(text) => Value::str(text),
                Err(error) => Value::Bytes(error.into_bytes().into()),
            })
        },
        "hmac_compute" => |machine, args| {
            let [value, secret] = args.bind("hmac_compute", ["string", "shared_secret"], 2)?;
            let mac = hmac(machine, secret, value)?;
            Ok(Value::str(hex(&mac)))
        },
        "hmac" => |machine, args| {
            let names = ["string", "shared_secret", "challenge_hmac"];
            let [value, secret, challenge] = args.bind("hmac_signature", names, 3)?;
            let mac = hmac(machine, secret, value)?;
            let challenge = decode(&bytes(&challenge.unwrap_or(Value::None))?);
            Ok(Value::Bool(
                challenge.is_some_and(|challenge| challenge == mac),
            ))
        },
        "uuid" => uuid,
        "to_bytes" => |_, args| {
            let [value, _, _] = args.bind("to_bytes", ["s", "encoding", "errors"], 1)?;
            bytes(&value.unwrap_or(Value::None)).map(|bytes| Value::Bytes(bytes.into()))
        },
        _ => return None,
    })
}

fn bytes(value: &Value) -> Result<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Ok(bytes.to_vec()),
        other => Ok(other.want_str("data")?.as_bytes().to_vec()),
    }
}

fn compute(machine: &Machine<'_>, algorithm: &str, data: &[u8]) -> Result<Vec<u8>> {
    machine.host().digest(algorithm, data).ok_or_else(|| {
        Error::new(
            ErrorKind::Host,
            format!("digest {algorithm} is not available here"),
        )
    })
}

fn digest(machine: &Machine<'_>, args: Args, algorithm: &str) -> Result<Value> {
    let data = bytes(&only(args, algorithm)?)?;
    Ok(Value::str(hex(&compute(machine, algorithm, &data)?)))
}

/// HMAC with SHA-256.
fn hmac(machine: &Machine<'_>, secret: Option<Value>, value: Option<Value>) -> Result<Vec<u8>> {
    let secret = bytes(&secret.unwrap_or(Value::None))?;
    let message = bytes(&value.unwrap_or(Value::None))?;
    let mut key = if secret.len() > BLOCK {
        compute(machine, "sha256", &secret)?
    } else {
        secret
    };
    key.resize(BLOCK, 0);
    let padded = |pad: u8| key.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = compute(machine, "sha256", &[padded(0x36), message].concat())?;
    compute(machine, "sha256", &[padded(0x5c), inner].concat())
}

/// The block of SHA-256.
const BLOCK: usize = 64;

/// Salt's own namespace for UUIDs made of names.
const NAMESPACE: [u8; 16] = [
    0x91, 0x63, 0x3e, 0xbf, 0x1c, 0x86, 0x5e, 0x33, 0x93, 0x5a, 0x28, 0x06, 0x1f, 0x4b, 0x48, 0x0e,
];

fn uuid(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let name = bytes(&only(args, "uuid")?)?;
    let mut id = compute(machine, "sha1", &[NAMESPACE.to_vec(), name].concat())?;
    id.truncate(16);
    if let Some(byte) = id.get_mut(6) {
        *byte = (*byte & 0x0f) | 0x50;
    }
    if let Some(byte) = id.get_mut(8) {
        *byte = (*byte & 0x3f) | 0x80;
    }
    let mut text = hex(&id);
    for at in [20, 16, 12, 8] {
        if text.is_char_boundary(at) {
            text.insert(at, '-');
        }
    }
    Ok(Value::str(text))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(data: &[u8]) -> String {
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for chunk in data.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for (index, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = ALPHABET
                .get(((bits >> shift) & 63) as usize)
                .copied()
                .unwrap_or(b'=');
            out.push(if index <= chunk.len() {
                digit.into()
            } else {
                '='
            });
        }
    }
    out
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .iter()
        .filter_map(|byte| ALPHABET.iter().position(|digit| digit == byte))
        .filter_map(|at| u32::try_from(at).ok())
        .collect();
    let padding = text.iter().filter(|byte| **byte == b'=').count();
    if digits.len() % 4 == 1 || (!digits.len().is_multiple_of(4) && digits.len() % 4 + padding < 4)
    {
        return None;
    }
    let mut out = Vec::new();
    for chunk in digits.chunks(4) {
        let digit = |at: usize| chunk.get(at).copied().unwrap_or_default();
        let bits = (digit(0) << 18) | (digit(1) << 12) | (digit(2) << 6) | digit(3);
        let [_, a, b, c] = bits.to_be_bytes();
        out.extend_from_slice(&[a, b, c][..chunk.len() - 1]);
    }
    Some(out)
}
