//! States that include the work of others of their kind (`mod_aggregate`), so that
//! it is done at once.

use halite_proto::{Map, Value};
use halite_state::Chunk;
use halite_state::chunk::TAKEN;

use crate::call::Call;

/// A chunk that is about to run, and those that it may take over.
pub struct Aggregation<'c> {
    /// The chunk itself.
    pub low: &'c Map,
    /// The chunks of the same function that have neither run nor taken over
    /// others.
    pub others: Vec<Chunk>,
}

impl<'c> Aggregation<'c> {
    /// The arguments of a call of `mod_aggregate`; nothing where the chunk is of
    /// none of `functions`.
    pub fn of(call: &'c Call<'_>, module: &str, functions: &[&str]) -> Option<Self> {
        let low = call.arg("low").as_map()?;
        let fun = low.get("fun").and_then(Value::as_str)?;
        if !functions.contains(&fun) {
            return None;
        }
        let running = call.arg("running");
        let chunks = call.arg("chunks").as_list().unwrap_or_default();
        let others = chunks
            .iter()
            .filter_map(Value::as_map)
            .filter(|chunk| {
                let is = |key: &str, wanted: &str| {
                    chunk.get(key).and_then(Value::as_str) == Some(wanted)
                };
                is("state", module) && is("fun", fun) && !chunk.contains_key("__agg__")
            })
            .map(|chunk| Chunk::new(chunk.clone()))
            .filter(|chunk| running.get(&chunk.tag()).is_none());
        Some(Self {
            low,
            others: others.collect(),
        })
    }

    /// The chunk with the argument `key` that it has with the others', and with
    /// the mark by which the engine knows what it has taken over.
    pub fn taking(&self, taken: &[&Chunk], key: &str, value: impl Into<Value>) -> Value {
        let mut low = self.low.clone();
        low.insert(key, value);
        let tags = taken.iter().map(|chunk| chunk.tag().into());
        low.insert(TAKEN, Value::List(tags.collect()));
        low.into()
    }
}
