//! The graph as text for Graphviz (`state.graph`).

use std::fmt::Write as _;

use super::{Graph, Node, Turn};
use crate::chunk::Chunk;

/// What the tag of a trial ends with.
const TRIAL: &str = "_|-__prereq_test__";

impl Graph {
    /// The graph in the language DOT, as Salt writes it: nothing is escaped.
    pub(crate) fn to_dot(&self, chunks: &[Chunk]) -> String {
        let mut out = String::from("digraph G {\n");
        let turns = |node| match self.nodes.get(node) {
            Some(Node::Turn(turn)) => Some(*turn),
            _ => None,
        };
        for turn in (0..self.nodes.len()).filter_map(turns) {
            let Some(chunk) = chunks.get(turn.chunk) else {
                continue;
            };
            let _ = write!(
                out,
                "  \"{}\" [label=\"{}\\n{}",
                tag(chunk, turn),
                chunk.full_name(),
                chunk.id()
            );
            let name = chunk.name_text();
            if name != chunk.id() {
                let _ = write!(out, "\\n({name})");
            }
            out.push_str("\"];\n");
        }
        for from in 0..self.nodes.len() {
            for (to, kind) in self.edges.out_of(from) {
                let ends = [from, to].map(|node| {
                    let turn = turns(node)?;
                    Some(tag(chunks.get(turn.chunk)?, turn))
                });
                if let [Some(from), Some(to)] = ends {
                    let kind = kind.name();
                    let _ = writeln!(out, "  \"{from}\" -> \"{to}\" [label=\"{kind}\"];");
                }
            }
        }
        out.push('}');
        out
    }
}

fn tag(chunk: &Chunk, turn: Turn) -> String {
    let end = if turn.trial { TRIAL } else { "" };
    format!("{}{end}", chunk.tag())
}
