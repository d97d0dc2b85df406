//! A low chunk: one call of one state function, with all its arguments.
//!
//! Invariant: the map is what Salt's low data shows; the engine's own data (the
//! place in the graph, the turn) is not in here.

use std::borrow::Cow;
use std::sync::Arc;

use halite_proto::python;
use halite_proto::{Map, Value};

use crate::mistake::About;

/// What separates the parts of a [`Chunk::tag`].
pub const TAG_SEPARATOR: &str = "_|-";

/// Where a chunk lists the tags of those that it has taken over
/// (`mod_aggregate`); functions cannot mark the others themselves.
pub const TAKEN: &str = "__agg_tags__";

/// One call of a state function. Clones share the map until one is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk(Arc<Map>);

impl Chunk {
    /// The chunk with these entries, which may lack any.
    pub fn new(map: Map) -> Self {
        Self(Arc::new(map))
    }

    /// The state module: `file`. Empty if it is missing.
    pub fn state(&self) -> &str {
        self.text("state")
    }

    /// The function within the module: `managed`. Empty if it is missing.
    pub fn fun(&self) -> &str {
        self.text("fun")
    }

    /// Module and function: `file.managed`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.state(), self.fun())
    }

    /// What the state is about, `name`. Usually text, but nothing forces an
    /// entry of `names` to be.
    pub fn name(&self) -> &Value {
        self.0.get("name").unwrap_or(&Value::Nil)
    }

    /// The name as Python writes it.
    pub fn name_text(&self) -> String {
        python::str(self.name())
    }

    /// The id of the declaration. Empty if it is missing.
    pub fn id(&self) -> &str {
        self.text("__id__")
    }

    /// The SLS it was declared in. Empty if it is missing.
    pub fn sls(&self) -> &str {
        self.text("__sls__")
    }

    /// The environment of that SLS, `base` if it is missing.
    pub fn env(&self) -> &str {
        match self.text("__env__") {
            "" => "base",
            env => env,
        }
    }

    /// A part of the declaration: what stands in its arguments.
    pub fn about(&self, part: impl IntoIterator<Item = Value>) -> About {
        let declaration = [self.id().into(), self.state().into()];
        About::declared(&self.0, declaration.into_iter().chain(part))
    }

    /// The order, a number after compiling.
    pub fn order(&self) -> &Value {
        self.0.get("order").unwrap_or(&Value::Nil)
    }

    /// The key of its result: module, id, name and function.
    pub fn tag(&self) -> String {
        let parts = ["state", "__id__", "name", "fun"].map(|key| match self.0.get(key) {
            Some(Value::Str(text)) => Cow::Borrowed(text.as_str()),
            Some(other) => Cow::Owned(python::str(other)),
            None => Cow::Borrowed(""),
        });
        parts.join(TAG_SEPARATOR)
    }

    /// The argument `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Whether there is an argument `key`.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The argument `key` as text; empty if it is missing or no text.
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Sets the argument `key`.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.map_mut().insert(key, value);
    }

    /// Takes the argument `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.has(key).then(|| self.map_mut().remove(key)).flatten()
    }

    /// All entries.
    pub fn map(&self) -> &Map {
        &self.0
    }

    /// All entries, to change.
    pub fn map_mut(&mut self) -> &mut Map {
        Arc::make_mut(&mut self.0)
    }

    /// The entries alone.
    pub fn into_map(self) -> Map {
        Arc::unwrap_or_clone(self.0)
    }

    /// The chunk as low data shows it.
    pub fn to_value(&self) -> Value {
        Value::Map(Map::clone(&self.0))
    }
}

/// The parts of a tag: module, id, name and function. Nothing if it has not
/// exactly four.
pub fn split_tag(tag: &str) -> Option<[&str; 4]> {
    let mut parts = tag.split(TAG_SEPARATOR);
    let four = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(four)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_four_parts() {
        let chunk = Chunk::new(Map::from([
            ("state", "file"),
            ("name", "/etc/x"),
            ("__id__", "x"),
            ("fun", "managed"),
        ]));
        assert_eq!(chunk.tag(), "file_|-x_|-/etc/x_|-managed");
        assert_eq!(
            split_tag(&chunk.tag()),
            Some(["file", "x", "/etc/x", "managed"])
        );
        assert_eq!(split_tag("a_|-b_|-c"), None);
    }
}
