//! The edges, from both ends. Two nodes may be joined by several edges, each
//! of another kind.

use indexmap::IndexMap;

use crate::requisite::Requisite;

type Ends = IndexMap<usize, Vec<Requisite>>;

/// All edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    out: Vec<Ends>,
    into: Vec<Ends>,
}

impl Edges {
    /// Makes room for `nodes` nodes.
    pub(super) fn grow(&mut self, nodes: usize) {
        self.out.resize_with(nodes, Ends::new);
        self.into.resize_with(nodes, Ends::new);
    }

    /// Adds an edge unless it is there.
    pub(super) fn add(&mut self, from: usize, to: usize, kind: Requisite) {
        put(&mut self.out, from, to, kind);
        put(&mut self.into, to, from, kind);
    }

    /// The edges that lead to `node`: where from, and of which kind.
    pub(super) fn edges_to(&self, node: usize) -> Vec<(usize, Requisite)> {
        flat(self.into.get(node)).collect()
    }

    /// The edges that leave `node`: where to, and of which kind.
    pub(super) fn out_of(&self, node: usize) -> impl Iterator<Item = (usize, Requisite)> {
        flat(self.out.get(node))
    }

    /// The nodes that edges from `node` lead to, and how many do.
    pub(super) fn next(&self, node: usize) -> impl Iterator<Item = (usize, usize)> {
        let ends = self.out.get(node).into_iter().flatten();
        ends.map(|(to, kinds)| (*to, kinds.len()))
    }

    /// How many edges lead to `node`.
    pub(super) fn in_degree(&self, node: usize) -> usize {
        let ends = self.into.get(node).into_iter().flatten();
        ends.map(|(_, kinds)| kinds.len()).sum()
    }

    /// Gives `to` the edges of `from`.
    pub(super) fn copy(&mut self, from: usize, to: usize) {
        for (source, kind) in self.edges_to(from) {
            self.add(source, to, kind);
        }
        let out: Vec<_> = self.out_of(from).collect();
        for (target, kind) in out {
            self.add(to, target, kind);
        }
    }
}

fn put(ends: &mut [Ends], at: usize, end: usize, kind: Requisite) {
    if let Some(ends) = ends.get_mut(at) {
        let kinds = ends.entry(end).or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
}

fn flat(ends: Option<&Ends>) -> impl Iterator<Item = (usize, Requisite)> {
    ends.into_iter()
        .flatten()
        .flat_map(|(end, kinds)| kinds.iter().map(move |kind| (*end, *kind)))
}
