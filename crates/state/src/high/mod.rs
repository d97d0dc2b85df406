//! High data: ids, and under each the states with their arguments.
//!
//! Invariant: each of these takes whatever an SLS may render to; what makes no
//! sense becomes an error in Salt's words, or is left alone.

mod exclude;
mod extend;
mod find;
mod requisite_in;
mod sharing;
mod single;
mod use_args;
mod verify;

pub use exclude::apply_exclude;
pub use extend::{reconcile_extend, remove_duplicate_extends};
pub use requisite_in::requisite_in;
pub use single::pad_template;
pub use verify::verify;

use halite_proto::{Map, Value};

use crate::low::{Low, LowOptions};

/// The whole way from high data to ordered chunks, as a run takes it:
/// `extend`, checks, `_in` requisites, `exclude`, chunks.
///
/// # Errors
/// Everything that is wrong, in Salt's words.
pub fn compile(
    mut high: Map,
    disabled_requisites: &[String],
    options: &LowOptions<'_>,
) -> Result<Low, Vec<String>> {
    let mut errors = reconcile_extend(&mut high, false);
    errors.extend(verify(&high));
    if !errors.is_empty() {
        return Err(errors);
    }
    errors.extend(requisite_in(&mut high, disabled_requisites));
    apply_exclude(&mut high);
    if !errors.is_empty() {
        return Err(errors);
    }
    Low::compile(&high, options)
}

/// The first key of a map that is text, with its value: how arguments and
/// references are written.
fn first(map: &Map) -> Option<(&Value, &Value)> {
    map.iter().next()
}

/// Whether a key is the engine's own.
fn is_private(key: &Value) -> bool {
    key.as_str().is_some_and(|key| key.starts_with("__"))
}
