//! `listen` and `listen_in`: reactions at the end of the run.
//!
//! Salt 3008.5, `State.call_listen`: each state that listens to one with
//! changes runs its `mod_watch` once, under an id of its own.

use halite_proto::python;
use halite_proto::{Map, Value};
use indexmap::IndexMap;

use super::machine::Machine;
use super::react::reaction;
use super::record;
use crate::chunk::{Chunk, TAG_SEPARATOR};
use crate::graph::Turn;

/// Who listens: a module, and the id or name it is known by.
type Listener = (String, String);

impl Machine {
    /// Runs what listens.
    pub(super) async fn listen(&mut self, order: &[Turn]) {
        let listens = |turn: &Turn| {
            let chunk = self.chunks.get(turn.chunk);
            chunk.is_some_and(|chunk| {
                chunk.get("listen").is_some() || chunk.get("listen_in").is_some()
            })
        };
        if !order.iter().any(listens) {
            return;
        }
        let chunks: Vec<Chunk> = self.distinct(order);
        let mut reactions: IndexMap<String, Chunk> = IndexMap::new();
        let mut errors: IndexMap<String, Map> = IndexMap::new();
        for (listener, targets) in listeners(&chunks) {
            for (module, name) in targets {
                let heard: Vec<&Chunk> = named(&chunks, &module, &name).collect();
                if heard.is_empty() {
                    error(&mut errors, &module, &name);
                    continue;
                }
                for chunk in heard {
                    let result = self.results.get(&chunk.tag());
                    if !result.is_some_and(record::changed) {
                        continue;
                    }
                    let mut any = false;
                    for listening in named(&chunks, &listener.0, &listener.1) {
                        any = true;
                        let reaction = reaction(listening, "listener", "mod_watch");
                        reactions.entry(reaction.tag()).or_insert(reaction);
                    }
                    if !any {
                        error(&mut errors, &listener.0, &listener.1);
                    }
                }
            }
        }
        self.react(reactions.into_values().collect()).await;
        for (tag, mut record) in errors {
            record.insert("__run_num__", record::count(self.take_number()));
            self.results.insert(tag, record);
        }
    }

    fn distinct(&self, order: &[Turn]) -> Vec<Chunk> {
        let turns = order.iter().filter(|turn| !turn.trial);
        turns
            .filter_map(|turn| self.chunks.get(turn.chunk).cloned())
            .collect()
    }
}

/// Every state that listens, and to what.
fn listeners(chunks: &[Chunk]) -> Vec<(Listener, Vec<Listener>)> {
    let mut all = Vec::new();
    for chunk in chunks {
        let own = (chunk.state().to_owned(), chunk.id().to_owned());
        if let Some(targets) = chunk.get("listen") {
            all.push((own.clone(), references(chunks, targets)));
        }
        if let Some(others) = chunk.get("listen_in") {
            for other in references(chunks, others) {
                all.push((other, vec![own.clone()]));
            }
        }
    }
    all
}

/// The modules and names that a list of references gives; a bare name means
/// the chunk that has it as id or name.
fn references(chunks: &[Chunk], value: &Value) -> Vec<Listener> {
    let mut found = Vec::new();
    for entry in value.as_list().unwrap_or_default() {
        match entry {
            Value::Map(map) => {
                for (module, name) in map {
                    found.push((python::str(module), python::str(name)));
                }
            }
            bare => {
                let bare = python::str(bare);
                let chunk = chunks
                    .iter()
                    .rev()
                    .find(|chunk| chunk.id() == bare || chunk.name_text() == bare);
                found.extend(chunk.map(|c| (c.state().to_owned(), c.id().to_owned())));
            }
        }
    }
    found
}

fn named<'c>(
    chunks: &'c [Chunk],
    module: &'c str,
    name: &'c str,
) -> impl Iterator<Item = &'c Chunk> {
    chunks.iter().filter(move |chunk| {
        chunk.state() == module && (chunk.id() == name || chunk.name_text() == name)
    })
}

fn error(errors: &mut IndexMap<String, Map>, module: &str, name: &str) {
    let s = TAG_SEPARATOR;
    let tag = format!("Listen_Error{s}listen_{name}{s}listen_{module}{s}Listen_Error");
    let record = Map::from([
        (
            "comment",
            Value::from(format!("Referenced state {module}: {name} does not exist")),
        ),
        ("name", format!("listen_{module}:{name}").into()),
        ("result", false.into()),
        ("changes", Map::new().into()),
    ]);
    errors.insert(tag, record);
}
