//! Parses the output of `nft --json`.

use halite_proto::{Value, json};

/// The list `nftables` of what `nft --json` writes; empty if it is something
/// else.
pub(super) fn objects(text: &str) -> Vec<Value> {
    let Ok(Value::Map(mut all)) = json::read(text) else {
        return Vec::new();
    };
    match all.remove("nftables") {
        Some(Value::List(items)) => items,
        _ => Vec::new(),
    }
}
