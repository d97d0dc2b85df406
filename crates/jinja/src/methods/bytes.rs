//! The methods of bytes that templates meet: after `encode`.

use crate::error::{Error, ErrorKind, Result};
use crate::eval::Args;
use crate::value::Value;

pub(super) const NAMES: &[&str] = &["decode", "hex", "startswith", "endswith", "strip"];

pub(super) fn call(bytes: &[u8], name: &str, args: Args) -> Result<Value> {
    let affix = match args.pos.first() {
        Some(Value::Bytes(affix)) => Some(affix.clone()),
        _ => None,
    };
    Ok(match name {
        "decode" => match std::str::from_utf8(bytes) {
            Ok(text) => Value::str(text),
            Err(error) => {
                let message = format!("'utf-8' codec can't decode bytes: {error}");
                return Err(Error::new(ErrorKind::Unicode, message));
            }
        },
        "hex" => Value::str(hex(bytes)),
        "startswith" => Value::Bool(affix.is_some_and(|affix| bytes.starts_with(&affix))),
        "endswith" => Value::Bool(affix.is_some_and(|affix| bytes.ends_with(&affix))),
        "strip" => Value::Bytes(bytes.trim_ascii().into()),
        _ => return Err(super::unknown(name)),
    })
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
