//! `beacon: true`: states whose result the minion watches with a beacon.
//!
//! Salt 3008.5: after all states and reactions of `listen`, each state with
//! `beacon` runs the `mod_beacon` of its module once, under an id of its own.

use super::machine::Machine;
use super::react::reaction;
use crate::chunk::Chunk;
use crate::graph::Turn;

impl Machine {
    /// Runs `mod_beacon` of the states that name a beacon, also `beacon: false`.
    pub(super) async fn beacons(&mut self, order: &[Turn]) {
        let turns = order.iter().filter(|turn| !turn.trial);
        let watched: Vec<Chunk> = turns
            .filter_map(|turn| self.chunks.get(turn.chunk))
            .filter(|chunk| chunk.get("beacon").is_some())
            .map(|chunk| reaction(chunk, "beacon", "mod_beacon"))
            .collect();
        if !watched.is_empty() {
            self.react(watched).await;
        }
    }
}
