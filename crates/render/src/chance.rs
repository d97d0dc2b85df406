//! Python's `random`, for functions outside the filters.

use halite_proto::Value;

use crate::filters::chance::{self, Source};
use crate::filters::mersenne::Mersenne;

/// So many of the items, chosen by chance, or as a seed has it; nothing if
/// there are not so many.
pub fn sample(items: Vec<Value>, size: usize, seed: Option<&Value>) -> Option<Vec<Value>> {
    chance::sample(items, size, Source::from_seed(seed)).ok()
}

/// The first number below `end` that Python yields after `random.seed(seed)`;
/// nothing if the seed is neither a number nor text.
pub fn seeded(seed: &Value, end: u32) -> Option<u32> {
    let mut source = match seed {
        Value::Bool(bool) => Mersenne::seeded(u128::from(*bool)),
        Value::Int(int) => Mersenne::seeded(int.unsigned_abs()),
        Value::Str(text) => Mersenne::of_text(text),
        _ => return None,
    };
    Some(source.below(end.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_pythons() {
        for (seed, end, number) in [
            (Value::from("m1"), 10, 2),
            ("x".into(), 60, 40),
            (5.into(), 60, 39),
            ("a".into(), 1000, 278),
            (true.into(), 1000, 137),
        ] {
            assert_eq!(seeded(&seed, end), Some(number), "{seed:?}");
        }
    }
}
