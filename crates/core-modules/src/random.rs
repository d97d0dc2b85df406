//! `random.*`: random values, from the system's own source.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_proto::{Map, Value};

use halite_call::{Call, CallError, CallResult, Function, Module, python};

/// Characters of a random text at most.
const LENGTH_MAX: usize = 1_000_000;

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
            "random.sample",
            "(value, size, seed=None)",
            |call| chosen(call, usize::try_from(call.int("size")?).ok()),
            "So many items of a list, chosen by chance, or as a seed has it.",
        ),
        Function::new(
            "random.seed",
            "(range=10, hash=None)",
            seed,
            "A number below range that is always the same for this minion, or for hash.",
        ),
        Function::new(
            "random.shadow_hash",
            "(crypt_salt=None, password=None, algorithm='sha512')",
            |call| {
                let args =
                    ["crypt_salt", "password", "algorithm"].map(|name| call.arg(name).clone());
                let [salt, password, algorithm] = args;
                let password = match password {
                    Value::Nil => text(&kinds(&KINDS[..4]), 20)?.into(),
                    given => given,
                };
                let kwargs = Map::from([("crypt_salt", salt), ("algorithm", algorithm)]);
                call.salt("shadow.gen_password", &[password], kwargs)
            },
            "The hash of a password as the system's database has it.",
        ),
        Function::new(
            "random.shuffle",
            "(value, seed=None)",
            |call| chosen(call, call.arg("value").as_list().map(<[Value]>::len)),
            "A list in another order, by chance or as a seed has it.",
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

const KINDS: [(&str, &str); 5] = [
    ("lowercase", LOWERCASE),
    ("uppercase", UPPERCASE),
    ("digits", DIGITS),
    ("punctuation", PUNCTUATION),
    ("whitespace", WHITESPACE),
];

fn kinds(kinds: &[(&str, &str)]) -> String {
    kinds.iter().map(|(_, chars)| *chars).collect()
}

fn get_str(call: &Call<'_>) -> CallResult {
    let mut chars = call.text_opt("chars").unwrap_or_default();
    if call.flag("printable") {
        chars = kinds(&KINDS);
    } else if chars.is_empty() {
        let wanted = KINDS.iter().filter(|(kind, _)| call.flag(kind));
        chars = wanted.map(|(_, chars)| *chars).collect();
    }
    let length = call.int("length")?;
    text(&chars, usize::try_from(length).unwrap_or_default()).map(Value::from)
}

/// A random text of these characters.
pub(super) fn text(chars: &str, length: usize) -> Result<String, CallError> {
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
    let chosen = (0..length).filter_map(one).filter_map(|at| chars.get(at));
    Ok(chosen.collect())
}

fn chosen(call: &Call<'_>, size: Option<usize>) -> CallResult {
    let items = match call.arg("value") {
        Value::List(items) => items.clone(),
        Value::Str(text) => text.chars().map(|c| c.to_string().into()).collect(),
        _ => {
            return Err(CallError::wrong_type(
                "Population must be a sequence.  For dicts or sets, use sorted(d).",
            ));
        }
    };
    let size = size.unwrap_or(items.len());
    let seed = Some(call.arg("seed")).filter(|seed| !seed.is_nil());
    halite_render::chance::sample(items, size, seed)
        .map(Value::from)
        .ok_or_else(|| {
            CallError::exception("ValueError", "Sample larger than population or is negative")
        })
}

fn seed(call: &Call<'_>) -> CallResult {
    let range = call.int("range")?;
    let Some(range) = u32::try_from(range).ok().filter(|range| *range > 0) else {
        let text = format!("empty range for randrange() ({range})");
        return Err(CallError::exception("ValueError", text));
    };
    let seed = match call.arg("hash") {
        Value::Nil => Value::from(call.ctx.id()),
        hash => hash.clone(),
    };
    Ok(seeded(&seed, range)?.into())
}

/// The first number below `end` of Python's `random.seed(seed)`.
fn seeded(seed: &Value, end: u32) -> Result<u32, CallError> {
    halite_render::chance::seeded(seed, end).ok_or_else(|| {
        CallError::wrong_type("The only supported seed types here are: int, bool, str")
    })
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
    let (start, end) = (call.int("start")?, call.int("end")?);
    let width = i128::from(end) - i128::from(start);
    if width < 0 {
        let text = format!("empty range in randrange({start}, {})", i128::from(end) + 1);
        return Err(CallError::exception("ValueError", text));
    }
    if !call.arg("seed").is_nil() {
        let count = u32::try_from(width + 1).map_err(|_| {
            CallError::command("random.rand_int: with a seed the range is too large")
        })?;
        let offset = seeded(call.arg("seed"), count)?;
        return Ok(Value::Int(i128::from(start) + i128::from(offset)));
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
