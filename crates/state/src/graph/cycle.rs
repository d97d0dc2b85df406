//! The report of a cycle.

use halite_proto::python;
use halite_proto::{Map, Value};

use super::Graph;
use crate::chunk::Chunk;
use crate::mistake::Mistake;
use crate::requisite::Requisite;

/// So many parts of a cycle are shown where they are written.
const CYCLE_PLACES_MAX: usize = 16;

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

impl Graph {
    /// The first cycle: its edges in Salt's notation - what depends, how, and
    /// on what - and where each is written.
    pub(crate) fn cycle(&self, chunks: &[Chunk]) -> Mistake {
        let mut edges = Vec::new();
        let mut parts = Vec::new();
        for (from, to, kind) in self.find_cycle() {
            let chunk = |node| chunks.get(self.turn_of(node)?.chunk);
            let (Some(on), Some(dependent)) = (chunk(from), chunk(to)) else {
                continue;
            };
            // The edges that a prereq adds are told as what was written.
            let kind = if kind == Requisite::Require && !dependent.has(kind.name()) {
                Requisite::Prereq
            } else {
                kind
            };
            edges.push(format!(
                "({}, '{}', {})",
                chunk_text(dependent),
                kind.name(),
                chunk_text(on)
            ));
            parts.push(dependent.about([kind.name().into(), on.state().into()]));
        }
        let text = format!("Recursive requisites were found: {}", edges.join(", "));
        let parts = parts.into_iter().take(CYCLE_PLACES_MAX);
        parts.fold(Mistake::new(text), Mistake::about)
    }

    /// Depth first, without recursion: a chain of requisites may be as long as
    /// there are states.
    fn find_cycle(&self) -> Vec<(usize, usize, Requisite)> {
        let mut marks = vec![Mark::New; self.nodes.len()];
        for start in 0..self.nodes.len() {
            if marks.get(start) != Some(&Mark::New) {
                continue;
            }
            // The path from `start`: each node, its edges, the next to try.
            let mut path = vec![(start, self.out_list(start), 0)];
            set(&mut marks, start, Mark::Open);
            while let Some((node, edges, next)) = path.last_mut() {
                let node = *node;
                let Some(&(to, _)) = edges.get(*next) else {
                    set(&mut marks, node, Mark::Done);
                    path.pop();
                    continue;
                };
                *next += 1;
                match marks.get(to) {
                    Some(Mark::Open) => return closed(&path, to),
                    Some(Mark::New) => {
                        set(&mut marks, to, Mark::Open);
                        path.push((to, self.out_list(to), 0));
                    }
                    _ => {}
                }
            }
        }
        Vec::new()
    }

    fn out_list(&self, node: usize) -> Vec<(usize, Requisite)> {
        self.edges.out_of(node).collect()
    }
}

type Step = (usize, Vec<(usize, Requisite)>, usize);

/// The part of the path from `to` on; its last edge leads back to `to`.
fn closed(path: &[Step], to: usize) -> Vec<(usize, usize, Requisite)> {
    let from = path.iter().position(|(node, ..)| *node == to).unwrap_or(0);
    let part = path.get(from..).unwrap_or_default();
    let edge = |(node, edges, next): &Step| {
        let (to, kind) = edges.get(next.checked_sub(1)?)?;
        Some((*node, *to, *kind))
    };
    part.iter().filter_map(edge).collect()
}

fn set(marks: &mut [Mark], node: usize, mark: Mark) {
    if let Some(old) = marks.get_mut(node) {
        *old = mark;
    }
}

fn chunk_text(chunk: &Chunk) -> String {
    let mut map = Map::new();
    map.insert("SLS", chunk.get("__sls__").cloned().unwrap_or_default());
    map.insert("ID", chunk.id());
    if chunk.name().as_str() != Some(chunk.id()) {
        map.insert("NAME", chunk.name().clone());
    }
    python::repr(&Value::Map(map))
}
