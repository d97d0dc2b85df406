//! `random.*`: chance, from the system's own source.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_proto::Value;

use crate::call::Call;
use crate::error::{CallError, CallResult};
use crate::python;
use crate::registry::{Function, Module};

/// Characters of a random text at most.
const LENGTH_MAX: i64 = 1_000_000;

pub(super) const MODULE: Module = Module {
    name: "random",
    functions: &[
        Function::new(
            "random.get_str",
            "(length=20, chars=None, lowercase=True, uppercase=True, digits=True, punctuation=True, whitespace=False, printable=False)",
            get_str,
            "A random text of these kinds of characters.",
        ),
        Function::new(
            "random.hash",
            "(value, algorithm='sha512')",
            hash,
            "The digest of a value as text.",
        ),
        Function::new(
            "random.rand_int",
            "(start=1, end=10, seed=None)",
            rand_int,
            "A random number between two, both included.",
        ),
        Function::new(
            "random.str_encode",
            "(value, encoder='base64')",
            str_encode,
            "Text as base64 or hex.",
        ),
    ],
};

const LOWERCASE: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPERCASE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const WHITESPACE: &str = " \t\n\r\x0b\x0c";

fn get_str(call: &Call<'_>) -> CallResult {
    let mut chars = call.text_opt("chars").unwrap_or_default();
    let kinds = [
        ("digits", DIGITS),
        ("lowercase", LOWERCASE),
        ("uppercase", UPPERCASE),
        ("punctuation", PUNCTUATION),
        ("whitespace", WHITESPACE),
    ];
    if call.flag("printable") {
        chars = kinds.iter().map(|(_, chars)| *chars).collect();
    } else if chars.is_empty() {
        let wanted = kinds.iter().filter(|(kind, _)| call.flag(kind));
        chars = wanted.map(|(_, chars)| *chars).collect();
    }
    let length = call.int("length")?;
    if length > LENGTH_MAX {
        return Err(CallError::command(format!(
            "a random text has at most {LENGTH_MAX} characters"
        )));
    }
    let chars: Vec<char> = chars.chars().collect();
    if chars.is_empty() && length > 0 {
        return Err(CallError::command("there are no characters to choose from"));
    }
    let one = |_| usize::try_from(below(chars.len() as u64)).ok();
    let text: String = (0..length)
        .filter_map(one)
        .filter_map(|at| chars.get(at))
        .collect();
    Ok(text.into())
}

/// A number from 0 up to `bound`, all equally likely.
fn below(bound: u64) -> u64 {
    // Numbers beyond the last whole multiple would favour small ones.
    let limit = u64::MAX - u64::MAX % bound.max(1);
    loop {
        let number = u64::from_le_bytes(random_bytes());
        if number < limit {
            return number % bound.max(1);
        }
    }
}

fn rand_int(call: &Call<'_>) -> CallResult {
    if !call.arg("seed").is_nil() {
        return Err(CallError::command(
            "random.rand_int: numbers of a seed are not supported",
        ));
    }
    let (start, end) = (call.int("start")?, call.int("end")?);
    let width = i128::from(end) - i128::from(start);
    if width < 0 {
        let text = format!("empty range in randrange({start}, {})", i128::from(end) + 1);
        return Err(CallError::exception("ValueError", text));
    }
    let offset = match u64::try_from(width + 1) {
        Ok(count) => below(count),
        Err(_) => u64::from_le_bytes(random_bytes()),
    };
    Ok(Value::Int(i128::from(start) + i128::from(offset)))
}

fn hash(call: &Call<'_>) -> CallResult {
    let name = call.text("algorithm");
    let kind = HashType::parse(&name)
        .map_err(|_| CallError::invocation("You must specify a valid algorithm."))?;
    Ok(hash_hex(kind, python::str(call.arg("value")).as_bytes()).into())
}

fn str_encode(call: &Call<'_>) -> CallResult {
    let value = call.text("value");
    match call.text("encoder").as_str() {
        "base64" => Ok(STANDARD.encode(value).into()),
        "hex" => Ok(value
            .bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .into()),
        _ => Err(CallError::invocation("You must specify a valid encoder")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_stays_in_its_bounds() {
        for bound in [1, 2, 7, u64::MAX] {
            for _ in 0..50 {
                assert!(below(bound) < bound);
            }
        }
    }
}
