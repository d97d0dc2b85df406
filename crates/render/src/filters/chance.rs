//! Random filters. With a seed they choose as Python does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_jinja::{Error, Result};
use halite_proto::Value;
use halite_proto::python;

use super::Args;
use super::mersenne::Mersenne;
use crate::limits::ITEMS_MAX;

/// Where numbers come from: a seed, or the system.
pub(crate) enum Source {
    Seeded(Box<Mersenne>),
    System,
}

impl Source {
    /// Texts are seeds by their SHA-512, as in Salt; integers, with which Salt
    /// fails, are themselves, and everything else is its text.
    pub(crate) fn from_seed(seed: Option<&Value>) -> Self {
        Self::Seeded(Box::new(match seed {
            None => return Self::System,
            Some(Value::Int(int)) => Mersenne::seeded(int.unsigned_abs()),
            Some(other) => {
                let text = python::str(other);
                Mersenne::of_text(&hash_hex(HashType::Sha512, text.as_bytes()))
            }
        }))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        match self {
            Self::Seeded(mersenne) => {
                let end = u32::try_from(end).unwrap_or(u32::MAX);
                usize::try_from(mersenne.below(end.max(1))).unwrap_or_default()
            }
            Self::System => {
                let number = u128::from_le_bytes(random_bytes::<16>());
                usize::try_from(number % (end.max(1) as u128)).unwrap_or_default()
            }
        }
    }
}

fn items(args: &Args<'_>) -> Result<Vec<Value>> {
    let items = match args.value() {
        Value::List(items) => items,
        Value::Str(text) => text.chars().map(|c| c.to_string().into()).collect(),
        _ => {
            return Err(Error::foreign(
                "Population must be a sequence.  For dicts or sets, use sorted(d).",
            ));
        }
    };
    if items.len() > ITEMS_MAX {
        return Err(Error::foreign("the list is too long"));
    }
    Ok(items)
}

/// `random.sample` of CPython 3.11.
pub(crate) fn sample(mut items: Vec<Value>, size: usize, mut source: Source) -> Result<Vec<Value>> {
    let count = items.len();
    if size > count {
        return Err(Error::foreign(
            "Sample larger than population or is negative",
        ));
    }
    let mut result = Vec::with_capacity(size);
    if count <= set_size(size) {
        for taken in 0..size {
            let last = count - taken - 1;
            let at = source.below(last + 1);
            result.push(items[at].clone());
            items.swap(at, last);
        }
    } else {
        let mut chosen = std::collections::HashSet::new();
        while result.len() < size {
            let at = source.below(count);
            if chosen.insert(at) {
                result.push(items[at].clone());
            }
        }
    }
    Ok(result)
}

/// Up to how many items a pool is cheaper than a set, as CPython reckons:
/// 21, and for more than five of them 4 to the power of ceil(log4(3 * size)).
fn set_size(size: usize) -> usize {
    if size <= 5 {
        return 21;
    }
    let mut power: usize = 1;
    while power < size.saturating_mul(3) {
        power = power.saturating_mul(4);
    }
    power.saturating_add(21)
}

pub(super) fn random_sample(args: &Args<'_>) -> Result<Value> {
    let size = args.size_or(1, "size", 0)?;
    let source = Source::from_seed(args.get(2, "seed"));
    Ok(sample(items(args)?, size, source)?.into())
}

pub(super) fn random_shuffle(args: &Args<'_>) -> Result<Value> {
    let items = items(args)?;
    let size = items.len();
    Ok(sample(items, size, Source::from_seed(args.get(1, "seed")))?.into())
}

pub(super) fn random(args: &Args<'_>) -> Result<Value> {
    let items = items(args)?;
    let at = Source::System.below(items.len());
    items
        .get(at)
        .cloned()
        .ok_or_else(|| Error::runtime("No random item, sequence was empty."))
}

pub(super) fn random_hash(args: &Args<'_>) -> Result<Value> {
    let most = match args.value() {
        Value::Nil => 9_999_999_999,
        value => value
            .as_int()
            .and_then(|int| usize::try_from(int).ok())
            .ok_or_else(|| args.wrong("size", &value))?,
    };
    let name = args.text_or(1, "hash_type", "md5")?;
    let hash_type = HashType::parse(&name)
        .map_err(|_| Error::foreign(format!("module 'hashlib' has no attribute '{name}'")))?;
    let number = Source::System.below(most.saturating_add(1)).to_string();
    Ok(hash_hex(hash_type, number.as_bytes()).into())
}

pub(super) fn random_str(args: &Args<'_>) -> Result<Value> {
    let size = match args.value() {
        Value::Nil => 32,
        value => value
            .as_int()
            .and_then(|int| usize::try_from(int).ok())
            .filter(|size| *size <= ITEMS_MAX)
            .ok_or_else(|| args.wrong("size", &value))?,
    };
    let mut text = String::new();
    while text.len() < size {
        text.push_str(&STANDARD.encode(random_bytes::<48>()));
    }
    text.truncate(size);
    Ok(text.into())
}

pub(super) fn gen_mac(args: &Args<'_>) -> Result<Value> {
    let prefix = match args.value() {
        Value::Nil => "AC:DE:48".to_owned(),
        _ => args.text(0, "prefix")?,
    };
    let [a, b, c] = random_bytes::<3>();
    Ok(format!("{prefix}:{a:02X}:{b:02X}:{c:02X}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded(items: Vec<Value>, size: usize, seed: i64) -> Vec<Value> {
        sample(items, size, Source::from_seed(Some(&seed.into()))).unwrap()
    }

    #[test]
    fn a_seed_chooses_as_python_does() {
        let letters: Vec<Value> = "abcdefgh".chars().map(|c| c.to_string().into()).collect();
        let numbers: Vec<Value> = (0..100).map(Value::from).collect();
        let text = |items: &[Value]| items.iter().filter_map(Value::as_str).collect::<String>();
        assert_eq!(text(&seeded(letters, 8, 3)), "degbchfa");
        assert_eq!(seeded(numbers, 3, 3), [30.into(), 75.into(), 69.into()]);
    }
}
