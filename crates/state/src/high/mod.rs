//! High data: ids, and under each the states with their arguments.
//!
//! Invariant: each step accepts whatever an SLS may render to; invalid data becomes
//! an error in Salt's words, or is left alone.

mod exclude;
mod extend;
mod find;
mod requisite_in;
mod template;
mod use_args;
mod verify;

pub use exclude::apply_exclude;
pub use extend::{reconcile_extend, remove_duplicate_extends};
pub use requisite_in::requisite_in;
pub use template::pad_template;
pub use verify::verify;

use halite_proto::{Map, Value};

use crate::low::{Low, LowOptions};
use crate::mistake::Mistake;

/// The whole way from high data to ordered chunks, as a run takes it:
/// `extend`, checks, `_in` requisites, `exclude`, chunks.
///
/// # Errors
/// Everything that is wrong, in Salt's words.
pub fn compile(mut high: Map, options: &LowOptions<'_>) -> Result<Low, Vec<Mistake>> {
    let mut errors = reconcile_extend(&mut high, false);
    errors.extend(verify(&high));
    if !errors.is_empty() {
        return Err(errors);
    }
    let errors = requisite_in(&mut high, options.disabled_requisites);
    apply_exclude(&mut high);
    if !errors.is_empty() {
        return Err(errors);
    }
    Low::compile(high, options)
}

/// Like [`compile`], but all steps are taken and all their errors reported, those
/// of rendering (`errors`) first: `state.show_lowstate`.
///
/// # Errors
/// Everything that is wrong, in Salt's words.
pub fn compile_all(
    mut high: Map,
    mut errors: Vec<Mistake>,
    options: &LowOptions<'_>,
) -> Result<Low, Vec<Mistake>> {
    errors.extend(reconcile_extend(&mut high, false));
    errors.extend(verify(&high));
    errors.extend(requisite_in(&mut high, options.disabled_requisites));
    apply_exclude(&mut high);
    if !errors.is_empty() {
        return Err(errors);
    }
    Low::compile(high, options)
}

/// The dependencies of high data in the language DOT (`state.graph`). As in
/// Salt what is wrong is left out of it.
pub fn graph(mut high: Map, options: &LowOptions<'_>) -> String {
    let mut mistakes = reconcile_extend(&mut high, false);
    mistakes.extend(verify(&high));
    mistakes.extend(requisite_in(&mut high, options.disabled_requisites));
    apply_exclude(&mut high);
    for mistake in mistakes {
        tracing::debug!("left out of the graph: {mistake}");
    }
    Low::dot(high, options)
}

/// The first entry of a map: how arguments and references are written.
pub(crate) fn first(map: &Map) -> Option<(&Value, &Value)> {
    map.iter().next()
}

/// Whether a key is the engine's own.
pub(crate) fn is_private(key: &Value) -> bool {
    key.as_str().is_some_and(|key| key.starts_with("__"))
}
