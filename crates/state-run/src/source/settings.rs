//! The options of compiling, from the options of the call.

use halite_call::{Call, python};
use halite_proto::Value;
use halite_state::Settings;

/// What the call's options say about compiling.
pub(super) fn settings(call: &Call<'_>) -> Settings {
    let defaults = Settings::default();
    let roots = call.opt("file_roots").as_map().map(|roots| roots.keys());
    let grains = call.ctx.grains();
    let disabled = grains.get("state_runs_disabled").map(texts);
    let auto_order = call.opt("state_auto_order");
    Settings {
        saltenv: call.opt_text("saltenv"),
        state_top_saltenv: call.opt_text("state_top_saltenv"),
        top_file_merging_strategy: call
            .opt_text("top_file_merging_strategy")
            .unwrap_or(defaults.top_file_merging_strategy),
        default_top: call.opt_text("default_top").unwrap_or(defaults.default_top),
        env_order: texts(call.opt("env_order")),
        file_roots: roots.map_or(defaults.file_roots, |keys| keys.map(python::str).collect()),
        state_auto_order: auto_order.is_nil() || auto_order.is_true(),
        master_tops_first: call.opt("master_tops_first").is_true(),
        disabled_requisites: texts(call.opt("disabled_requisites")),
        state_aggregate: call.opt("state_aggregate").clone(),
        disabled_states: disabled.unwrap_or_default(),
    }
}

/// A list of texts, or one text.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Str(text) if !text.is_empty() => vec![text.clone()],
        _ => Vec::new(),
    }
}
