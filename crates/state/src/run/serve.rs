//! The helper functions of a state module: `mod_init` before its first state,
//! `mod_aggregate` where chunks may be joined.

use halite_proto::{Map, Value};

use super::machine::Machine;
use crate::chunk::{Chunk, TAKEN};
use crate::graph::Turn;

impl Machine {
    /// Lets the module join what is ahead into this chunk.
    pub(super) async fn aggregate(&mut self, turn: Turn) {
        if self.aggregated.contains(&turn.chunk) || self.graph.group(turn.chunk).is_empty() {
            return;
        }
        self.aggregated.insert(turn.chunk);
        let chunk = self.chunk(turn).clone();
        let ahead: Vec<usize> = self
            .graph
            .group(turn.chunk)
            .iter()
            .copied()
            .filter(|other| !self.aggregated.contains(other) || *other == turn.chunk)
            .collect();
        let chunks = ahead.iter().filter_map(|at| self.chunks.get(*at));
        let chunks = Value::List(chunks.map(Chunk::to_value).collect());
        let running: Map = self
            .results
            .iter()
            .map(|(tag, record)| (tag.as_str(), record.clone()))
            .collect();
        let fun = format!("{}.mod_aggregate", chunk.state());
        let args = vec![chunk.to_value(), chunks, running.into()];
        let served = self.port.serve(fun, args, chunk.map().clone()).await;
        let Ok(Value::Map(mut joined)) = served else {
            return;
        };
        let taken = joined.remove(TAKEN).unwrap_or_default();
        let taken = taken.as_list().unwrap_or_default();
        for other in ahead {
            let tag = self.chunks.get(other).map(Chunk::tag).unwrap_or_default();
            if taken.iter().any(|taken| taken.as_str() == Some(&tag)) {
                self.aggregated.insert(other);
            }
        }
        if let Some(known) = self.chunks.get_mut(turn.chunk) {
            *known = Chunk::new(joined);
            known.set("__agg__", true);
        }
    }

    /// `mod_init` of the state's module, until it says that it is content.
    pub(super) async fn init_module(&mut self, chunk: &Chunk) {
        let fun = format!("{}.mod_init", chunk.state());
        if self.initialised.contains(chunk.state())
            || !self.functions.has_state(&fun)
            || !self.functions.has_state(&chunk.full_name())
        {
            return;
        }
        let low = chunk.map().clone();
        if let Ok(done) = self.port.serve(fun, vec![chunk.to_value()], low).await
            && done.is_true()
        {
            self.initialised.insert(chunk.state().to_owned());
        }
    }
}
