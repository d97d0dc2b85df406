//! The order of the run: dependencies first, then by `order`, then by name.
//!
//! A chunk that others depend on takes the smallest order of those that depend
//! on it in the heaviest way, so that it runs just before the first of them.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};

use halite_proto::Value;

use super::aggregate::Groups;
use super::{Graph, Node, Turn};
use crate::chunk::Chunk;

/// What `last` and negative orders are counted from.
const END: i128 = 1_000_000;

/// What decides between nodes that could both be next.
#[derive(Debug, PartialEq)]
struct Key {
    effective: f64,
    own: f64,
    label: String,
    tag: String,
    node: usize,
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.effective
            .total_cmp(&other.effective)
            .then_with(|| self.own.total_cmp(&other.own))
            .then_with(|| self.label.cmp(&other.label))
            .then_with(|| self.tag.cmp(&other.tag))
            .then_with(|| self.node.cmp(&other.node))
    }
}

impl Graph {
    /// Puts the turns in order and forms groups on the way. `None` if there is
    /// a cycle.
    pub(crate) fn sort(&mut self, chunks: &mut [Chunk], cap: i128) -> Option<Vec<Turn>> {
        let count = self.nodes.len();
        let mut waits: Vec<usize> = (0..count).map(|node| self.edges.in_degree(node)).collect();
        let ties = self.ties(chunks, cap);
        let mut ready = BinaryHeap::new();
        for (node, waits) in waits.iter().enumerate() {
            if *waits == 0 {
                ready.push(Reverse(self.key(chunks, cap, &ties, node)));
            }
        }
        let mut groups = Groups::default();
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse(Key { node, .. })) = ready.pop() {
            order.extend(self.turn_of(node));
            groups.offer(self, chunks, node);
            let next: Vec<_> = self.edges.next(node).collect();
            for (to, edges) in next {
                let Some(left) = waits.get_mut(to) else {
                    continue;
                };
                *left = left.saturating_sub(edges);
                if *left == 0 {
                    ready.push(Reverse(self.key(chunks, cap, &ties, to)));
                }
            }
        }
        (order.len() == count).then_some(order)
    }

    /// The orders that several turns have: only among them names decide.
    fn ties(&self, chunks: &[Chunk], cap: i128) -> HashSet<u64> {
        let mut seen = HashSet::with_capacity(self.nodes.len());
        let turns = (0..self.nodes.len()).filter_map(|node| self.turn_of(node));
        let ties = turns
            .filter_map(|turn| Some(settled(chunks.get(turn.chunk)?, cap).to_bits()))
            .filter(|order| !seen.insert(*order));
        // The place of groups, which have no names.
        ties.chain([0_f64.to_bits()]).collect()
    }

    fn key(&self, chunks: &mut [Chunk], cap: i128, ties: &HashSet<u64>, node: usize) -> Key {
        let Some(Node::Turn(turn)) = self.nodes.get(node) else {
            return Key {
                effective: 0.0,
                own: 0.0,
                label: String::new(),
                tag: String::new(),
                node,
            };
        };
        let own = match chunks.get_mut(turn.chunk) {
            Some(chunk) => settle(chunk, cap),
            None => 0.0,
        };
        let least = self.least_dependent(chunks, cap, node);
        let (label, mut tag) = match chunks.get(turn.chunk) {
            Some(chunk) if ties.contains(&own.to_bits()) => (
                format!("{}{}{}", chunk.state(), chunk.name_text(), chunk.fun()),
                chunk.tag(),
            ),
            _ => Default::default(),
        };
        if turn.trial {
            tag.push_str("_|-__prereq_test__");
        }
        Key {
            effective: own.min(least),
            own,
            label,
            tag,
            node,
        }
    }

    /// The smallest order of those that depend on `node`. A lighter requisite
    /// after a heavier one does not count, one before it does, as in Salt.
    fn least_dependent(&self, chunks: &mut [Chunk], cap: i128, node: usize) -> f64 {
        let mut heaviest = 0;
        let mut least = f64::INFINITY;
        for (to, kind) in self.edges.out_of(node) {
            if heaviest > kind.weight() {
                continue;
            }
            heaviest = kind.weight();
            let Some(turn) = self.turn_of(to) else {
                continue;
            };
            if let Some(chunk) = chunks.get_mut(turn.chunk) {
                let order = match chunk.get("order") {
                    None => f64::INFINITY,
                    Some(order) => match number(order) {
                        Some(number) => number,
                        None => named(chunk, cap),
                    },
                };
                least = least.min(order);
            }
        }
        least
    }
}

/// Replaces what `order` says in words by a number.
fn named(chunk: &mut Chunk, cap: i128) -> f64 {
    let order = in_words(chunk, cap);
    chunk.set("order", Value::Int(order));
    float(order)
}

fn in_words(chunk: &Chunk, cap: i128) -> i128 {
    match chunk.get("order").and_then(Value::as_str) {
        Some("last") => cap.saturating_add(END),
        Some("first") => 0,
        _ => cap,
    }
}

/// What [`settle`] will make of the chunk's order.
fn settled(chunk: &Chunk, cap: i128) -> f64 {
    let order = chunk.get("order").and_then(number);
    let order = order.unwrap_or_else(|| float(in_words(chunk, cap)));
    let place = chunk.get("name_order").and_then(number).unwrap_or_default();
    let order = match place {
        0.0 => order,
        place => order + place / 10000.0,
    };
    match order < 0.0 {
        true => order + float(cap.saturating_add(END)),
        false => order,
    }
}

/// Makes a number of the chunk's order: what is written, the place within
/// `names`, negative ones counted from the end.
fn settle(chunk: &mut Chunk, cap: i128) -> f64 {
    let mut order = match chunk.get("order").and_then(number) {
        Some(order) => order,
        None => named(chunk, cap),
    };
    let place = chunk.remove("name_order").and_then(|place| number(&place));
    if let Some(place) = place
        && place != 0.0
    {
        order += place / 10000.0;
        chunk.set("order", order);
    }
    if order < 0.0 {
        let end = cap.saturating_add(END);
        let value = match chunk.get("order").and_then(Value::as_int) {
            Some(int) => Value::Int(int.saturating_add(end)),
            None => Value::Float(order + float(end)),
        };
        order += float(end);
        chunk.set("order", value);
    }
    order
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(true) => Some(1.0),
        Value::Bool(false) => Some(0.0),
        other => other.as_f64(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "orders are compared as Python compares them"
)]
fn float(int: i128) -> f64 {
    int as f64
}
