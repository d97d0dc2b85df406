//! Which chunk depends on which.
//!
//! Nodes are chunks by their tag, plus one for the trial of each chunk that another
//! one has a `prereq` on, plus one for each group of chunks that may be aggregated.
//! An edge leads from a dependency to its dependent.
//!
//! Invariant: every lookup uses a table; the cost of adding a requisite depends on
//! its matches, not on the number of chunks (except for globs, which are matched
//! with all names of their module).

mod aggregate;
mod cycle;
mod dot;
mod edges;
mod lookup;
mod order;

use std::collections::HashMap;

use halite_proto::Value;
use halite_proto::python;

use crate::chunk::Chunk;
use crate::mistake::Mistake;
use crate::requisite::Requisite;

use edges::Edges;
use lookup::{Lookup, Nodes};

/// One entry of the order of a run: a chunk, or the trial of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Turn {
    /// The index of the chunk.
    pub chunk: usize,
    /// Whether it is only tried (`test=True`), for the state that has a
    /// `prereq` on it.
    pub trial: bool,
}

/// Something that a turn depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// How.
    pub requisite: Requisite,
    /// On what.
    pub on: Turn,
}

#[derive(Clone, Debug)]
enum Node {
    Turn(Turn),
    Aggregate(Vec<usize>),
}

/// What a reference to an SLS means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Its states and those of the SLS that it includes (3008).
    #[default]
    Included,
    /// Its own states only (3006).
    Own,
}

/// The dependencies between chunks.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    reach: Reach,
    nodes: Vec<Node>,
    edges: Edges,
    lookup: Lookup,
    /// Node of each chunk, of its trial, and of the group it is in.
    own: Vec<usize>,
    trials: HashMap<usize, usize>,
    groups: HashMap<usize, usize>,
    /// Nodes that may be aggregated.
    aggregable: Vec<bool>,
}

impl Graph {
    /// An empty graph in which SLS reach that far.
    pub(crate) fn new(reach: Reach) -> Self {
        Self {
            reach,
            ..Self::default()
        }
    }

    /// Gives up what only adding requisites needs.
    pub(crate) fn forget_names(&mut self) {
        self.lookup = Lookup::default();
    }

    /// Adds chunk number `index`; all chunks are added before any requisite. A
    /// chunk with the tag of an earlier one takes that one's place, and the
    /// earlier one never runs.
    pub(crate) fn add_chunk(&mut self, index: usize, chunk: &Chunk, may_aggregate: bool) {
        let tag = chunk.tag();
        let node = match self.lookup.node_of_tag(&tag) {
            Some(node) => node,
            None => {
                let node = self.push(Node::Turn(Turn {
                    chunk: index,
                    trial: false,
                }));
                self.lookup.add_tag(tag, node);
                node
            }
        };
        if let Some(known) = self.nodes.get_mut(node) {
            *known = Node::Turn(Turn {
                chunk: index,
                trial: false,
            });
        }
        if let Some(flag) = self.aggregable.get_mut(node) {
            *flag = may_aggregate;
        }
        self.own.resize(index, usize::MAX);
        self.own.push(node);
    }

    /// What `turn` depends on. Members of a group stand for the group.
    pub fn dependencies(&self, turn: Turn) -> Vec<Dependency> {
        let mut all = Vec::new();
        let Some(node) = self.node(turn) else {
            return all;
        };
        for (source, requisite) in self.edges.edges_to(node) {
            match self.nodes.get(source) {
                Some(Node::Turn(on)) => all.push(Dependency { requisite, on: *on }),
                Some(Node::Aggregate(members)) => {
                    all.extend(members.iter().map(|chunk| Dependency {
                        requisite,
                        on: Turn {
                            chunk: *chunk,
                            trial: false,
                        },
                    }));
                }
                None => {}
            }
        }
        all
    }

    /// The chunks that may be aggregated with `chunk`, it included; empty if
    /// there are none.
    pub fn group(&self, chunk: usize) -> &[usize] {
        let node = self.own.get(chunk).and_then(|node| self.groups.get(node));
        match node.and_then(|node| self.nodes.get(*node)) {
            Some(Node::Aggregate(members)) => members,
            _ => &[],
        }
    }

    fn node(&self, turn: Turn) -> Option<usize> {
        let own = *self.own.get(turn.chunk)?;
        if turn.trial {
            self.trials.get(&own).copied()
        } else {
            (own != usize::MAX).then_some(own)
        }
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.aggregable.push(false);
        self.edges.grow(self.nodes.len());
        self.nodes.len() - 1
    }

    fn turn_of(&self, node: usize) -> Option<Turn> {
        match self.nodes.get(node) {
            Some(Node::Turn(turn)) => Some(*turn),
            _ => None,
        }
    }
}

/// Why a requisite of a chunk makes no sense.
pub(crate) type Fault = Mistake;

impl Graph {
    /// Adds the requisites of chunk number `index`. Chunks are marked where
    /// a `prereq` concerns them.
    pub(crate) fn add_requisites(
        &mut self,
        chunks: &mut [Chunk],
        index: usize,
        disabled: &[String],
        warnings: &mut Vec<String>,
    ) -> Result<(), Fault> {
        for kind in Requisite::DIRECT {
            let Some(references) = references(chunks, index, kind) else {
                continue;
            };
            if disabled.iter().any(|name| name == kind.name()) {
                warnings.push(format!(
                    "The {} requisite has been disabled, Ignoring.",
                    kind.name()
                ));
                continue;
            }
            for (key, value) in references {
                if value.is_nil() {
                    continue;
                }
                self.add_reference(chunks, index, kind, &key, &value, warnings)?;
            }
        }
        Ok(())
    }

    fn add_reference(
        &mut self,
        chunks: &mut [Chunk],
        index: usize,
        kind: Requisite,
        key: &str,
        value: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let (name, sls) = match chunks.get(index) {
            Some(chunk) => (chunk.name_text(), chunk.get("__sls__").map(python::str)),
            None => return Ok(()),
        };
        let sls = sls.unwrap_or_else(|| "None".to_owned());
        let kind_name = kind.name();
        let mistake = |text| {
            let part = [kind_name.into(), key.into(), value.clone()];
            let about = chunks.get(index).map(|chunk| chunk.about(part));
            about.into_iter().fold(Mistake::new(text), Mistake::about)
        };
        let Some(text) = value.as_str() else {
            let text = format!(
                "Requisite [{kind_name}: {key}] in state [{name}] in SLS [{sls}] must have a string as the value"
            );
            return Err(mistake(text));
        };
        let all = Nodes {
            chunks,
            own: &self.own,
        };
        let Some(mut found) = self.lookup.find(key, text, self.reach, &all) else {
            let text = format!(
                "Referenced state does not exist for requisite [{kind_name}: ({key}: {text})] in state [{name}] in SLS [{sls}]"
            );
            return Err(mistake(text));
        };
        let Some(&own) = self.own.get(index) else {
            return Ok(());
        };
        // A reference that means others and also the state that declares it:
        // 3008 calls that a cycle, 3006 runs it.
        if found.len() > 1 && found.contains(&own) {
            found.retain(|node| *node != own);
            warnings.push(format!(
                "requisite [{kind_name}: ({key}: {text})] in state [{name}] in SLS [{sls}] also matches the state itself; that match is ignored"
            ));
        }
        for node in found {
            self.add_dependency(chunks, own, kind, node);
        }
        Ok(())
    }

    fn add_dependency(&mut self, chunks: &mut [Chunk], own: usize, kind: Requisite, on: usize) {
        if kind == Requisite::Prereq {
            self.add_prereq(chunks, own, on);
            return;
        }
        if let Some(&trial) = self.trials.get(&own) {
            self.edges.add(on, trial, kind);
        }
        self.edges.add(on, own, kind);
    }

    /// The trial of `on` comes before `own`, and `own` before `on`; what `on`
    /// depends on comes before its trial as well.
    fn add_prereq(&mut self, chunks: &mut [Chunk], own: usize, on: usize) {
        let (Some(own_turn), Some(on_turn)) = (self.turn_of(own), self.turn_of(on)) else {
            return;
        };
        if let Some(chunk) = chunks.get_mut(own_turn.chunk) {
            chunk.set("__prerequiring__", true);
        }
        if let Some(chunk) = chunks.get_mut(on_turn.chunk) {
            chunk.set("__prereq__", true);
        }
        let trial = match self.trials.get(&on) {
            Some(&trial) => trial,
            None => {
                let trial = self.push(Node::Turn(Turn {
                    chunk: on_turn.chunk,
                    trial: true,
                }));
                self.trials.insert(on, trial);
                for (source, kind) in self.edges.edges_to(on) {
                    if kind != Requisite::Prereq {
                        self.edges.add(source, trial, kind);
                    }
                }
                trial
            }
        };
        self.edges.add(trial, own, Requisite::Prereq);
        self.edges.add(own, on, Requisite::Require);
        if let Some(&own_trial) = self.trials.get(&own) {
            self.edges.add(trial, own_trial, Requisite::Prereq);
        }
    }
}

/// The references of one kind: module (without a function behind a dot) and
/// id or name. Nothing if the chunk declares none.
fn references(chunks: &[Chunk], index: usize, kind: Requisite) -> Option<Vec<(String, Value)>> {
    let value = chunks.get(index)?.get(kind.name())?;
    if !value.is_true() {
        return None;
    }
    let one = |entry: &Value| match entry {
        Value::Map(map) => map.iter().next().map(|(key, value)| {
            let key = python::str(key);
            let module = key.split('.').next().unwrap_or_default().to_owned();
            (module, value.clone())
        }),
        other => Some(("id".to_owned(), other.clone())),
    };
    Some(match value {
        Value::List(entries) => entries.iter().filter_map(one).collect(),
        Value::Map(map) => map.keys().filter_map(one).collect(),
        other => one(other).into_iter().collect(),
    })
}
