//! The methods of numbers.

use crate::error::Result;
use crate::eval::Args;
use crate::value::Value;

pub(super) fn call(value: &Value, name: &str, args: Args) -> Result<Value> {
    args.no_named(name)?;
    Ok(match (value, name) {
        (_, "conjugate") => value.clone(),
        (Value::Float(float), "is_integer") => {
            Value::Bool(float.is_finite() && float.fract() == 0.0)
        }
        (_, "bit_length") => {
            let bits = value.as_int().unwrap_or_default().unsigned_abs();
            Value::Int((u128::BITS - bits.leading_zeros()).into())
        }
        (_, "bit_count") => {
            let bits = value.as_int().unwrap_or_default().unsigned_abs();
            Value::Int(bits.count_ones().into())
        }
        (_, "as_integer_ratio") => {
            let int = value.as_int().unwrap_or_default();
            Value::tuple(vec![Value::Int(int), Value::Int(1)])
        }
        _ => return Err(super::unknown(name)),
    })
}
