//! `hashutil.*`: digests, and binary data as text.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halite_crypto::{HashType, constant_time_eq, hash_hex};
use halite_proto::Value;

use halite_call::{Call, CallError, CallResult, Function, Module, os_error, paths, python};

/// Characters of a line of `base64.encodebytes`.
const LINE: usize = 76;

pub(super) const MODULE: Module = Module {
    name: "hashutil",
    functions: &[
        Function::new(
            "hashutil.base64_b64decode",
            "(instr)",
            decode,
            "What base64 text stands for.",
        ),
        Function::new(
            "hashutil.base64_b64encode",
            "(instr)",
            |call| Ok(STANDARD.encode(bytes(call.arg("instr"))).into()),
            "Text as base64, in one line.",
        ),
        Function::new(
            "hashutil.base64_decodefile",
            "(instr, outfile)",
            decode_file,
            "Writes what base64 text stands for to a file.",
        ),
        Function::new(
            "hashutil.base64_decodestring",
            "(instr)",
            decode,
            "What base64 text stands for.",
        ),
        Function::new(
            "hashutil.base64_encodefile",
            "(fname)",
            |call| Ok(in_lines(&read(&call.text("fname"))?).into()),
            "A file as base64, in lines of 76 characters.",
        ),
        Function::new(
            "hashutil.base64_encodestring",
            "(instr)",
            |call| Ok(in_lines(&bytes(call.arg("instr"))).into()),
            "Text as base64, in lines of 76 characters.",
        ),
        Function::new(
            "hashutil.digest",
            "(instr, checksum='md5')",
            |call| digest(&call.text("checksum"), &bytes(call.arg("instr"))),
            "The digest of text: md5, sha256 or sha512.",
        ),
        Function::new(
            "hashutil.digest_file",
            "(infile, checksum='md5')",
            digest_file,
            "The digest of a file: md5, sha256 or sha512.",
        ),
        Function::new(
            "hashutil.github_signature",
            "(string, shared_secret, challenge_hmac)",
            github_signature,
            "Whether the signature of a webhook of GitHub is right.",
        ),
        Function::new(
            "hashutil.hmac_compute",
            "(string, shared_secret)",
            |call| Ok(hex(&mac(call, HashType::Sha256)).into()),
            "The keyed digest (HMAC SHA256) of text.",
        ),
        Function::new(
            "hashutil.hmac_signature",
            "(string, shared_secret, challenge_hmac)",
            |call| {
                let own = STANDARD.encode(mac(call, HashType::Sha256));
                let given = call.text("challenge_hmac");
                Ok(constant_time_eq(own.as_bytes(), given.as_bytes()).into())
            },
            "Whether a keyed digest (HMAC SHA256, as base64) is that of text.",
        ),
        Function::new(
            "hashutil.md5_digest",
            "(instr)",
            |call| digest("md5", &bytes(call.arg("instr"))),
            "The MD5 digest of text.",
        ),
        Function::new(
            "hashutil.sha256_digest",
            "(instr)",
            |call| digest("sha256", &bytes(call.arg("instr"))),
            "The SHA256 digest of text.",
        ),
        Function::new(
            "hashutil.sha512_digest",
            "(instr)",
            |call| digest("sha512", &bytes(call.arg("instr"))),
            "The SHA512 digest of text.",
        ),
    ],
};

fn bytes(value: &Value) -> Vec<u8> {
    match value.as_bytes() {
        Some(bytes) => bytes.to_vec(),
        None => python::str(value).into_bytes(),
    }
}

fn read(path: &str) -> Result<Vec<u8>, CallError> {
    paths::read(path).map_err(|error| os_error(&error, path))
}

fn decoded(text: &Value) -> Result<Vec<u8>, CallError> {
    // As in Python, what is no base64 does not count.
    let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let text: Vec<u8> = bytes(text).into_iter().filter(known).collect();
    STANDARD
        .decode(text)
        .map_err(|error| CallError::exception("binascii.Error", error.to_string()))
}

fn decode(call: &Call<'_>) -> CallResult {
    Ok(Value::text_or_bytes(decoded(call.arg("instr"))?))
}

fn decode_file(call: &Call<'_>) -> CallResult {
    let path = call.text("outfile");
    paths::write(Path::new(&path), decoded(call.arg("instr"))?)
        .map_err(|error| os_error(&error, &path))?;
    Ok(true.into())
}

fn in_lines(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    for (at, c) in encoded.chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            lines.push('\n');
        }
        lines.push(c);
    }
    if !lines.is_empty() {
        lines.push('\n');
    }
    lines
}

fn digest(checksum: &str, bytes: &[u8]) -> CallResult {
    match checksum {
        "md5" => Ok(hash_hex(HashType::Md5, bytes).into()),
        "sha256" => Ok(hash_hex(HashType::Sha256, bytes).into()),
        "sha512" => Ok(hash_hex(HashType::Sha512, bytes).into()),
        other => Err(CallError::command(format!(
            "Hash func '{other}' is not supported."
        ))),
    }
}

fn digest_file(call: &Call<'_>) -> CallResult {
    let path = call.text("infile");
    if !Path::new(&path).is_file() {
        return Err(CallError::command(format!("File path '{path}' not found.")));
    }
    digest(&call.text("checksum"), &read(&path)?)
}

fn github_signature(call: &Call<'_>) -> CallResult {
    let challenge = call.text("challenge_hmac");
    let signature = challenge.split_once('=');
    let (kind, digest) = signature
        .and_then(|(name, digest)| Some((HashType::parse(name).ok()?, digest)))
        .ok_or_else(|| CallError::exception("ValueError", "not a signature of a webhook"))?;
    let own = hex(&mac(call, kind));
    Ok(constant_time_eq(own.as_bytes(), digest.as_bytes()).into())
}

/// The HMAC (RFC 2104) of the parameter `string` under `shared_secret`.
fn mac(call: &Call<'_>, kind: HashType) -> Vec<u8> {
    hmac(
        kind,
        &bytes(call.arg("shared_secret")),
        &bytes(call.arg("string")),
    )
}

fn hmac(kind: HashType, key: &[u8], message: &[u8]) -> Vec<u8> {
    let block = match kind {
        HashType::Sha384 | HashType::Sha512 => 128,
        _ => 64,
    };
    let mut key = if key.len() > block {
        raw(kind, key)
    } else {
        key.to_vec()
    };
    key.resize(block, 0);
    let padded = |pad: u8| key.iter().map(move |byte| byte ^ pad);
    let inner: Vec<u8> = padded(0x36).chain(message.iter().copied()).collect();
    let outer: Vec<u8> = padded(0x5c).chain(raw(kind, &inner)).collect();
    raw(kind, &outer)
}

fn raw(kind: HashType, bytes: &[u8]) -> Vec<u8> {
    let digit = |c: char| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<u8> = hash_hex(kind, bytes).chars().filter_map(digit).collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_digests_are_those_of_the_rfc() {
        // RFC 4231, cases 2 and 6.
        assert_eq!(
            hex(&hmac(
                HashType::Sha256,
                b"Jefe",
                b"what do ya want for nothing?"
            )),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(
            hex(&hmac(HashType::Sha256, &[0xaa; 131], message)),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn long_texts_have_lines() {
        assert_eq!(in_lines(b""), "");
        assert_eq!(in_lines(b"get salted"), "Z2V0IHNhbHRlZA==\n");
        let lines = in_lines(&[0; 60]);
        let lengths: Vec<usize> = lines.lines().map(str::len).collect();
        assert_eq!(lengths, [76, 4]);
    }
}
