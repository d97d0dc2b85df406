//! Groups of chunks that may run at once (`mod_aggregate`).
//!
//! Invariant: no member of a group depends on another one, by any path, paths
//! through other groups included.

use std::collections::{HashMap, HashSet};

use super::{Graph, Node};
use crate::chunk::Chunk;

/// Most members of a group; more start another one.
const GROUP_MAX: usize = 500;

/// The groups so far, by module.
#[derive(Default)]
pub(super) struct Groups(HashMap<String, Vec<Vec<usize>>>);

impl Groups {
    /// Puts the node into the first group that has room and no path to it.
    /// Nodes come in the order of the run.
    pub(super) fn offer(&mut self, graph: &mut Graph, chunks: &[Chunk], node: usize) {
        if !graph.aggregable.get(node).copied().unwrap_or_default() {
            return;
        }
        let Some(turn) = graph.turn_of(node) else {
            return;
        };
        let Some(chunk) = chunks.get(turn.chunk) else {
            return;
        };
        let groups = self.0.entry(chunk.state().to_owned()).or_default();
        for group in groups.iter_mut().filter(|group| group.len() < GROUP_MAX) {
            let Some(&first) = group.first() else {
                continue;
            };
            let joint = graph.groups.get(&first).copied();
            if graph.has_path(joint.unwrap_or(first), node) {
                continue;
            }
            let joint = joint.unwrap_or_else(|| graph.found(first));
            graph.join(joint, node);
            group.push(node);
            return;
        }
        groups.push(vec![node]);
    }
}

impl Graph {
    /// Starts a group with `node`.
    fn found(&mut self, node: usize) -> usize {
        let joint = self.push(Node::Aggregate(Vec::new()));
        self.join(joint, node);
        joint
    }

    fn join(&mut self, joint: usize, node: usize) {
        let chunk = self.turn_of(node).map(|turn| turn.chunk);
        if let Some(Node::Aggregate(members)) = self.nodes.get_mut(joint) {
            members.extend(chunk);
        }
        self.edges.copy(node, joint);
        self.groups.insert(node, joint);
    }

    /// Whether `to` depends on `from`.
    fn has_path(&self, from: usize, to: usize) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if node == to {
                return true;
            }
            if seen.insert(node) {
                open.extend(self.edges.next(node).map(|(next, _)| next));
            }
        }
        false
    }
}
