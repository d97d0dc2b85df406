//! The reactions of states that listen: calls that have no requisites.

use halite_proto::Map;

use super::effect::Patience;
use super::machine::Machine;
use super::record;
use crate::chunk::Chunk;

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
            self.told(&chunk, &tag).await;
            if failed && self.is_hard(&chunk) {
                break;
            }
        }
        self.reap(Patience::All).await;
    }
}
