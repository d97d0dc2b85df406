//! Calls without requisites at the end of a run: reactions of `listen`, and
//! beacons.

use halite_proto::Map;

use super::effect::Patience;
use super::machine::Machine;
use super::record;
use crate::chunk::Chunk;
use crate::keywords;

impl Machine {
    /// Runs the reactions, in their order, until one ends the run.
    pub(super) async fn react(&mut self, reactions: Vec<Chunk>) {
        self.length = reactions.len();
        for mut chunk in reactions {
            let tag = chunk.tag();
            if self.options.jid.is_some() && !self.port.may_go_on(chunk.id()).await {
                break;
            }
            self.init_module(&chunk).await;
            let record = self.call(&mut chunk, false, Map::new()).await;
            let failed = record::failed(&record);
            self.results.insert(tag.clone(), record);
            self.after_result(&chunk, &tag).await;
            if failed && self.is_hard(&chunk) {
                break;
            }
        }
        self.reap(Patience::All).await;
    }
}

/// The call of `fun` with the arguments of a chunk, under an id of its own.
pub(super) fn reaction(chunk: &Chunk, kind: &str, fun: &str) -> Chunk {
    let mut low = chunk.clone();
    low.set("sfun", chunk.fun());
    low.set("fun", fun);
    low.set("__id__", format!("{kind}_{}", chunk.id()));
    low.remove("__prereq__");
    low.map_mut()
        .retain(|key, _| !key.as_str().is_some_and(keywords::is_requisite));
    low
}
