//! Functions that compute.

use std::time::Instant;

use halite_crypto::{HashType, hash_hex, random_bytes};
use halite_proto::Value;

use crate::limits::COLLATZ_STEPS_MAX;
use halite_call::{Call, CallError, CallResult};

/// The sequence halves with Python's true division, so its numbers are floats
/// from the first halving on.
pub(super) fn collatz(call: &Call<'_>) -> CallResult {
    let start = call.int("start")?;
    let began = Instant::now();
    if start < 1 {
        return Err(CallError::invocation("the start must be 1 or more"));
    }
    let mut steps = Vec::new();
    let mut number = i128::from(start);
    let mut is_float = false;
    while number != 1 {
        #[expect(clippy::cast_precision_loss, reason = "as in Python")]
        steps.push(if is_float {
            Value::Float(number as f64)
        } else {
            Value::Int(number)
        });
        if steps.len() > COLLATZ_STEPS_MAX {
            return Err(CallError::command("the sequence is too long"));
        }
        number = if number % 2 == 0 {
            is_float = true;
            number / 2
        } else {
            number * 3 + 1
        };
    }
    Ok(vec![steps.into(), began.elapsed().as_secs_f64().into()].into())
}

pub(super) fn fib(call: &Call<'_>) -> CallResult {
    let place = call.int("num")?;
    let began = Instant::now();
    let too_large = || CallError::exception("OverflowError", "the number is too large");
    let (mut one, mut next) = (0_i128, 1_i128);
    if place < 2 {
        one = place.into();
    } else {
        for _ in 0..place {
            let sum = one.checked_add(next).ok_or_else(too_large)?;
            (one, next) = (next, sum);
        }
    }
    Ok(vec![Value::Int(one), began.elapsed().as_secs_f64().into()].into())
}

pub(super) fn rand_str(call: &Call<'_>) -> CallResult {
    let name = call
        .text_opt("hash_type")
        .or_else(|| call.opt_text("hash_type"))
        .unwrap_or_else(|| "sha256".to_owned());
    let hash_type = HashType::parse(&name)
        .map_err(|_| CallError::exception("ValueError", format!("unsupported hash type {name}")))?;
    Ok(hash_hex(hash_type, &random_bytes::<32>()).into())
}
